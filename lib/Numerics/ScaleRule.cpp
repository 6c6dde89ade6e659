//===-- ScaleRule.cpp - How a block's scale is chosen ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "blockscale/Numerics/ScaleRule.h"
#include "Text.h"

#include <cmath>

using namespace blockscale;
using Estimator = ScaleRule::Estimator;
using Order = ScaleRule::Order;
using Select = ScaleRule::Select;

namespace {
template <typename T> struct Named {
  std::string_view name;
  T value;
};
} // namespace

static constexpr Named<Order> kOrders[] = {
    {"floor", Order::Floor},           {"ceil", Order::Ceil},
    {"rceil", Order::RCeil},           {"even", Order::Even},
    {"reciprocal", Order::Reciprocal}, {"division", Order::Division},
    {"unrounded", Order::Unrounded},   {"held", Order::Held},
};
static constexpr Named<Estimator> kEstimators[] = {
    {"absmax", Estimator::AbsMax},
    {"rms", Estimator::Rms},
    {"minmax", Estimator::MinMax},
};
static constexpr Named<Select> kSelects[] = {
    {"single", Select::Single},
    {"four_over_six_mse", Select::FourOverSixMSE},
    {"four_over_six_mae", Select::FourOverSixMAE},
};

/// Rules by the name of what they come from. The first of equal rules is
/// printed.
static const std::vector<Named<ScaleRule>> &namedRules() {
  static const std::vector<Named<ScaleRule>> rules = [] {
    std::vector<Named<ScaleRule>> rules;
    auto add = [&](std::string_view name, Order order) -> ScaleRule & {
      rules.push_back({name, {}});
      rules.back().value.order = order;
      return rules.back().value;
    };
    add("two_level", Order::Reciprocal);       // Transformer Engine
    add("torchao_two_level", Order::Division); // torchao
    add("absmax", Order::Division);            // bitsandbytes
    ScaleRule &mse = add("four_over_six", Order::Reciprocal);
    mse.select = Select::FourOverSixMSE;
    mse.bound = 256;
    ScaleRule &mae = add("four_over_six_mae", Order::Reciprocal);
    mae.select = Select::FourOverSixMAE;
    mae.bound = 256;
    add("svdquant", Order::Unrounded);                   // Nunchaku
    add("ue5m3", Order::Held).bound = 448;               // arXiv 2609.02846
    add("rms", Order::Floor).estimator = Estimator::Rms; // Quartet
    add("minmax", Order::Division).estimator = Estimator::MinMax;
    for (const auto &order : kOrders)
      add(order.name, order.value);
    return rules;
  }();
  return rules;
}

bool ScaleRule::hasEncodeFactor() const {
  return order == Order::Reciprocal || order == Order::Unrounded ||
         order == Order::Held || preMultiplier != 1.0f;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

template <typename T, size_t N>
static bool applyName(const Named<T> (&table)[N], std::string_view key,
                      std::string_view value, T &field, std::string &error) {
  std::vector<std::string_view> names;
  for (const Named<T> &row : table) {
    if (row.name == value) {
      field = row.value;
      return true;
    }
    names.push_back(row.name);
  }
  error = "expects " + std::string(key) + " = " + listOf(names) + ", but got " +
          std::string(key) + " = " + std::string(value);
  return false;
}

namespace {
struct NumberField {
  std::string_view name;
  float ScaleRule::*field;
};
} // namespace
static constexpr NumberField kNumbers[] = {
    {"bound", &ScaleRule::bound},
    {"pre_multiplier", &ScaleRule::preMultiplier},
    {"headroom", &ScaleRule::headroom},
    {"clip", &ScaleRule::clip},
    {"epsilon", &ScaleRule::epsilon},
};

static bool applyOption(const Format::Option &option, ScaleRule &rule,
                        std::string &error) {
  const auto &[key, value] = option;
  if (key == "estimator")
    return applyName(kEstimators, key, value, rule.estimator, error);
  if (key == "order")
    return applyName(kOrders, key, value, rule.order, error);
  if (key == "select")
    return applyName(kSelects, key, value, rule.select, error);
  if (key == "satfinite") {
    rule.satfinite = value == "true";
    if (value == "true" || value == "false")
      return true;
    error = "expects satfinite = true or false, but got satfinite = " + value;
    return false;
  }
  for (const NumberField &number : kNumbers) {
    if (number.name != key)
      continue;
    auto parsed = parseFloat(value);
    // A bound of zero stands for the scale type's maximum.
    bool zeroAllowed = key == "bound" || key == "epsilon";
    if (parsed && (*parsed > 0 || (*parsed == 0 && zeroAllowed))) {
      rule.*number.field = *parsed;
      return true;
    }
    error = "expects a positive number for " + key + ", but got " + value;
    return false;
  }
  error = "expects an option estimator, order, select, satfinite, bound, "
          "pre_multiplier, headroom, clip or epsilon, but got " +
          key;
  return false;
}

std::optional<ScaleRule>
ScaleRule::fromText(std::string_view head,
                    const std::vector<Format::Option> &options,
                    std::string &error) {
  std::optional<ScaleRule> rule;
  std::vector<std::string_view> names;
  for (const auto &named : namedRules()) {
    if (named.name == head)
      rule = named.value;
    names.push_back(named.name);
  }
  if (!rule) {
    error = "expects a scale rule (" + listOf(names) + "), but got " +
            std::string(head);
    return std::nullopt;
  }
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      if (options[j].first == options[i].first) {
        error = "expects one value of " + options[i].first + ", but got " +
                options[j].second + " and " + options[i].second;
        return std::nullopt;
      }
    if (!applyOption(options[i], *rule, error))
      return std::nullopt;
  }
  return rule;
}

template <typename T, size_t N>
static std::string nameIn(const Named<T> (&table)[N], T value) {
  for (const Named<T> &row : table)
    if (row.value == value)
      return std::string(row.name);
  return "";
}

std::string ScaleRule::text() const {
  for (const auto &named : namedRules())
    if (named.value == *this)
      return std::string(named.name);
  ScaleRule base;
  base.order = order;
  std::string text = nameIn(kOrders, order);
  if (estimator != base.estimator)
    text += ", estimator = " + nameIn(kEstimators, estimator);
  if (select != base.select)
    text += ", select = " + nameIn(kSelects, select);
  if (satfinite)
    text += ", satfinite = true";
  for (const NumberField &number : kNumbers)
    if (this->*number.field != base.*number.field)
      text +=
          ", " + std::string(number.name) + " = " + textOf(this->*number.field);
  return text;
}

namespace blockscale {
bool operator==(const ScaleRule &a, const ScaleRule &b) {
  for (const NumberField &number : kNumbers)
    if (a.*number.field != b.*number.field)
      return false;
  return a.estimator == b.estimator && a.order == b.order &&
         a.select == b.select && a.satfinite == b.satfinite;
}
} // namespace blockscale

//===----------------------------------------------------------------------===//
// Rules and formats (scale_c16)
//===----------------------------------------------------------------------===//

std::string ScaleRule::check(const Format &format) const {
  auto mismatch = [&](std::string wanted, std::string got) {
    return "expects " + wanted + ", but got " + got;
  };
  std::string orderText = "order = " + nameIn(kOrders, order);
  std::string formatText = "format " + format.text();
  bool asymmetric = format.zero != ZeroPoint::None;
  bool isPowerOfTwoOrder = order == Order::Floor || order == Order::Ceil ||
                           order == Order::RCeil || order == Order::Even;

  if (asymmetric != (estimator == Estimator::MinMax))
    return mismatch(asymmetric
                        ? "estimator = minmax with a zero point"
                        : "a format with a zero point with estimator = minmax",
                    asymmetric ? "estimator = " + nameIn(kEstimators, estimator)
                               : formatText);
  if (asymmetric && order != Order::Division)
    return mismatch("order = division with estimator = minmax", orderText);
  if (asymmetric && preMultiplier != 1.0f)
    return mismatch("pre_multiplier = 1 with a zero point",
                    "pre_multiplier = " + textOf(preMultiplier));
  if (isPowerOfTwoOrder && !format.scale.isPowerOfTwo())
    return mismatch("scale = e8m0 with " + orderText,
                    "scale = " + format.scale.name());
  if (isPowerOfTwoOrder && format.hasTensorScale)
    return mismatch("a format without a tensor scale with " + orderText,
                    formatText);
  if (order == Order::Even &&
      (format.element.kind == ElementType::Kind::Codebook ||
       format.element.kind == ElementType::Kind::Midrise))
    return mismatch("a float or an integer element with order = even",
                    "element " + format.element.name());
  if (order == Order::Held && !format.hasTensorScale)
    return mismatch("a format with tensor = f32 with order = held, which "
                    "scales by the tensor's held amax",
                    formatText);
  if (order == Order::Held && estimator == Estimator::Rms)
    return mismatch("estimator = absmax with order = held", "estimator = rms");
  if (order == Order::Unrounded && format.hasTensorScale)
    return mismatch("a format without a tensor scale with order = unrounded",
                    formatText);
  if (satfinite && !isPowerOfTwoOrder)
    return mismatch("order = floor, ceil, rceil or even with satfinite = true",
                    orderText);
  if (bound != 0 && (isPowerOfTwoOrder || !format.hasTensorScale))
    return mismatch("a format with a tensor scale with bound = " +
                        textOf(bound),
                    formatText);
  if (bound > format.scale.maxFinite())
    return mismatch("a bound of at most " + textOf(format.scale.maxFinite()) +
                        " with scale = " + format.scale.name(),
                    "bound = " + textOf(bound));
  if (headroom != 1.0f && estimator == Estimator::AbsMax &&
      (isPowerOfTwoOrder && order != Order::RCeil))
    return mismatch("headroom = 1 with " + orderText,
                    "headroom = " + textOf(headroom));
  if (select != Select::Single &&
      (order != Order::Reciprocal || estimator != Estimator::AbsMax))
    return mismatch("order = reciprocal and estimator = absmax with select = " +
                        nameIn(kSelects, select),
                    orderText +
                        " and estimator = " + nameIn(kEstimators, estimator));
  if (select != Select::Single && format.element.maxMagnitude() != 6.0f)
    return mismatch("an element whose largest magnitude is 6 with select = " +
                        nameIn(kSelects, select),
                    "element " + format.element.name() + " with " +
                        textOf(format.element.maxMagnitude()));
  return "";
}

ScaleRule ScaleRule::defaultFor(const Format &format) {
  ScaleRule rule;
  if (format.zero != ZeroPoint::None) {
    rule.estimator = Estimator::MinMax;
    rule.order = Order::Division;
  } else if (format.hasTensorScale ||
             format.scale.kind == ScaleType::Kind::Float) {
    rule.order = Order::Reciprocal;
  } else if (!format.scale.isPowerOfTwo()) {
    rule.order = Order::Division;
  }
  return rule;
}
