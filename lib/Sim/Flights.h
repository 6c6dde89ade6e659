//===-- Flights.h - Asynchronous copies on their way ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy is checked when it is issued: its addresses, and by Race.h its order,
// so whoever touches its bytes before its end was observed is reported. Its
// bytes move, and its mbarrier hears of it, when it lands: at once, or with a
// seed some rounds of the warps later and after copies that were issued later.
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_LIB_SIM_FLIGHTS_H
#define BLOCKSCALE_LIB_SIM_FLIGHTS_H

#include "Reduction.h"

#include <array>
#include <map>
#include <vector>

namespace blockscale::sim {

struct Cluster;
struct Inst;
struct Warp;

struct Flight {
  enum Kind : uint8_t {
    Copy,    ///< cp.async
    Arrival, ///< cp.async.mbarrier.arrive: lands behind its warp's copies.
    Load,    ///< cp.async.bulk to shared memory
    Store,   ///< cp.async.bulk to global memory
    Stored,  ///< The same when it has read its source.
  };
  struct Piece {
    uint8_t *to;
    const uint8_t *from; ///< Null: `fill`.
    uint32_t bytes;
    uint64_t address; ///< Of `to` in global memory; chooses a reduction's lock.
  };

  Kind kind;
  Warp *warp;
  const Inst *inst;
  unsigned lane;
  uint32_t group = 0; ///< Of the warp's copies or bulk copies.
  std::vector<Piece> pieces;
  std::array<uint8_t, 16> fill = {};
  bool reduces = false;
  ReductionOp op = ReductionOp::Add;
  Type type = Type::None;

  /// Mbarriers that it signals, and of a Load the agent and time of Race.h.
  std::vector<uint32_t> mbarriers;
  uint32_t agent = 0, time = 0;
  uint32_t bytes = 0;
  std::vector<uint8_t> source; ///< What a store has read.
};

class Flights {
public:
  explicit Flights(Cluster &cluster) : cluster(cluster) {}
  void start();
  /// Lands it now or puts it on its way.
  void issue(Flight flight);
  /// Whether a copy of `kind` or, of a Store, a Stored is on its way, in a
  /// group of the warp's up to `group`.
  bool isPending(const Warp &warp, Flight::Kind kind, uint32_t group) const;
  /// A round of the warps is over: lands what is due.
  void pass();
  /// Nothing else can happen: lands what is due next. False if nothing is.
  bool landNext();
  void landAll();

private:
  void land(Flight &flight);
  void signal(Flight &flight);
  void landFirst();

  Cluster &cluster;
  uint64_t now = 0;                        ///< In rounds.
  std::multimap<uint64_t, Flight> flights; ///< By when they are due.
};

} // namespace blockscale::sim

#endif // BLOCKSCALE_LIB_SIM_FLIGHTS_H
