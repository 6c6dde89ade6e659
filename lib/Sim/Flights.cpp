//===-- Flights.cpp - Asynchronous copies on their way ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Flights.h"
#include "Copies.h"

namespace blockscale::sim {

/// A flight takes fewer than 2^8 rounds; most take a few.
static constexpr uint32_t kLongestBits = 8;

void Flights::start() {
  now = 0;
  flights.clear();
}

void Flights::issue(Flight flight) {
  if (!cluster.chance) {
    land(flight);
    if (flight.kind == Flight::Store && !cluster.failed) {
      flight.kind = Flight::Stored;
      land(flight);
    }
    return;
  }
  uint64_t due = now + 1 + cluster.chance.spread(kLongestBits);
  if (flight.kind == Flight::Arrival)
    for (const auto &[when, other] : flights)
      if (other.warp == flight.warp && other.kind <= Flight::Arrival)
        due = std::max(due, when);
  flights.emplace(due, std::move(flight));
}

bool Flights::isPending(const Warp &warp, Flight::Kind kind,
                        uint32_t group) const {
  for (const auto &[due, flight] : flights)
    if (flight.warp == &warp && flight.group <= group &&
        (flight.kind == kind ||
         (kind == Flight::Stored && flight.kind == Flight::Store)))
      return true;
  return false;
}

void Flights::pass() {
  ++now;
  while (!flights.empty() && flights.begin()->first <= now && !cluster.failed)
    landFirst();
}

bool Flights::landNext() {
  if (flights.empty())
    return false;
  now = std::max(now, flights.begin()->first);
  landFirst();
  return true;
}

void Flights::landAll() {
  while (!cluster.failed && landNext())
    ;
}

void Flights::landFirst() {
  Flight flight = std::move(flights.begin()->second);
  flights.erase(flights.begin());
  land(flight);
  if (flight.kind == Flight::Store && !cluster.failed) {
    flight.kind = Flight::Stored;
    flights.emplace(now + 1 + cluster.chance.spread(kLongestBits),
                    std::move(flight));
  }
}

void Flights::land(Flight &flight) {
  ++cluster.progress;
  if (flight.kind == Flight::Store) {
    for (const Flight::Piece &piece : flight.pieces)
      flight.source.insert(flight.source.end(), piece.from,
                           piece.from + piece.bytes);
    const uint8_t *read = flight.source.data();
    for (Flight::Piece &piece : flight.pieces) {
      piece.from = read;
      read += piece.bytes;
    }
    return;
  }
  for (const Flight::Piece &piece : flight.pieces) {
    const uint8_t *from = piece.from ? piece.from : flight.fill.data();
    if (flight.reduces)
      reduceBytes(*flight.warp, flight.op, flight.type, piece.address, piece.to,
                  from, piece.bytes);
    else
      std::memcpy(piece.to, from, piece.bytes);
  }
  if (!flight.mbarriers.empty())
    signal(flight);
}

void Flights::signal(Flight &flight) {
  Warp &w = *flight.warp;
  const Inst &i = *flight.inst;
  for (uint32_t address : flight.mbarriers) {
    MbarrierPlace place;
    place.address = address;
    place.cta = &cluster.ctas[address >> rankShift];
    if (place.cta != w.cta && place.cta->liveWarps == 0)
      return w.fault(Fault::OutOfBounds, i, flight.lane,
                     "lands in shared memory of CTA " +
                         std::to_string(place.cta->rank) +
                         " of the cluster, which has exited",
                     address);
    auto it = place.cta->mbarriers.find(address);
    if (it == place.cta->mbarriers.end() ||
        (flight.agent && it->second.agent != flight.agent))
      return w.fault(Fault::BadSync, i, flight.lane,
                     "lands when its mbarrier is no longer the one that it was "
                     "given: expects mbarrier.inval or mbarrier.init after a "
                     "wait for the copy",
                     address);
    place.shadow = &it->second;
    place.bits = place.cta->memory.data() +
                 ((address & ((1u << rankShift) - 1)) - sharedBase);
    MbarrierShadow &shadow = *place.shadow;
    if (flight.kind == Flight::Arrival) {
      shadow.clock.raise(w.copyAgent(), flight.group);
    } else {
      // Times say that all copies before have landed too.
      shadow.inFlight.erase(flight.time);
      shadow.clock.raise(shadow.agent, shadow.inFlight.empty()
                                           ? shadow.copies
                                           : *shadow.inFlight.begin() - 1);
    }
    if (!updateMbarrier(w, i, flight.lane, place,
                        flight.kind == Flight::Arrival, -int64_t(flight.bytes)))
      return;
  }
}

} // namespace blockscale::sim
