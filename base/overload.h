#pragma once
// Overload: a visitor made of lambdas, for std::visit.
//
//   std::visit(Overload{[](const Compute& c) {...},
//                       [](const Send& s) {...}},
//              work);

namespace orrery {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace orrery
