#pragma once
// What a machine's networks are made of, counted on the graph itself.
//
// Every cable counts once, whichever way data goes; parallel cables count each.
// Host links end at a chip or NIC and at a switch, fabric links at two
// switches, direct links at two chips or at two NICs.
#include <cstdint>
#include <string>
#include <vector>

#include "topology/graph/graph.h"
#include "topology/machine/system.h"

namespace orrery {

struct NetworkParts {
  // One kind of link, with the switches it is attached to.
  struct OfClass {
    std::string name;
    // Row of the price table; empty where none is named.
    std::string price_id;
    // Inside a node: part of the server.
    bool inside = false;
    int64_t host_links = 0;
    int64_t fabric_links = 0;
    int64_t direct_links = 0;
    // Ends of these links that are at a NIC; more than 0 marks the network
    // between nodes.
    int64_t nic_ports = 0;
    int64_t switches = 0;
    // Ports of its largest switch.
    int64_t most_ports = 0;
  };
  std::vector<OfClass> classes;
  int64_t nics = 0;
  // Ports of NICs beyond the first of each.
  int64_t more_nic_ports = 0;
};

// Links between a chip and its NIC are no cables and not counted.
NetworkParts CountParts(const Graph& graph);

// What has to be bought of them. Trees of switches are built with all up-links
// of every leaf; where few end points are there, nobody buys them all: the
// fewest switches of the same radix that give every end point what the taper
// promises, one switch if they fit, else leaves, and up-links for the end
// points they have. A tree that is full is bought as it is built, and other
// topologies are.
NetworkParts BoughtParts(const System& system, NetworkParts built);

}  // namespace orrery
