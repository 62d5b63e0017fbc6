#pragma once
// Links between switches that no sprayed route tells apart.
//
// A fat tree has planes: switches above the leaves that may change places, all
// their cables with them, and the machine is as before. Such a change leaves
// every end point and every leaf where it is, and so what is sprayed between
// two of them: links that it puts in each other's place always carry the same.
// One of them is as good as all.
//
// Planes are the connected parts of the switches from some distance to the
// chips on. That two may change places is not taken from how they look: what is
// told alike is a mapping of their links that was checked link by link. Parts
// that are alike in a way that is not found are told apart.
#include "base/ids.h"
#include "topology/graph/graph.h"

namespace orrery {

// Of each link the first of those that are like it, itself included. Only links
// between switches outside islands are like others. Cost: O(links log links)
// for each tier of switches.
IdVector<LinkId, LinkId> FirstAlikeLinks(const Graph& graph);

}  // namespace orrery
