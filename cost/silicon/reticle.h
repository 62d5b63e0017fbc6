#pragma once
// The exposure field of a scanner: what fits into it, and what it costs if a
// die leaves part of it empty or needs several.
//
// Equations of CATCH (arXiv 2503.15753): a field that is used to u costs its
// lithography share of the wafer 1/u times; a die of r fields is stitched
// 2 g (g - 1) + 2 (r - g^2) - ceil((r - g^2) / g) times, g = floor(sqrt r).
#include "cost/silicon/geometry.h"

namespace orrery {

struct Reticle {
  Millimetres width{26};
  Millimetres height{33};
  SquareMillimetres area() const { return width * height; }
};

// Fields a die needs, and the seams between them.
struct Stitching {
  int fields = 1;
  int seams = 0;
};
Stitching StitchingOf(const Reticle& reticle, SquareMillimetres die);

// The used share of the fields that a die, or as many as fit, takes.
double ReticleUse(const Reticle& reticle, SquareMillimetres die);

// How much more a wafer costs whose exposures are only partly used;
// `lithography` is the share of its cost that is exposure.
double LithographyWaste(const Reticle& reticle, SquareMillimetres die,
                        double lithography);

}  // namespace orrery
