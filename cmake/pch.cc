// Carries a precompiled header; holds nothing itself.
