#pragma once
// The same for tests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmake/pch.h"
