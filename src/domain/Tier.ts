import { Schema } from "effect"

/** What a connection may do, lowest first. Each includes those before it. */
export const Tier = Schema.Literal("pim:read", "pim:write", "pim:publish")
export type Tier = typeof Tier.Type

const rank = (tier: Tier): number => Tier.literals.indexOf(tier)

/** Whether a connection of this tier may do what needs that one. */
export const covers = (tier: Tier, needed: Tier): boolean => rank(tier) >= rank(needed)

/** The tiers up to this one, lowest first: what may be chosen where it is asked for, and the scopes that it stands for. */
export const upTo = (tier: Tier): ReadonlyArray<Tier> => Tier.literals.slice(0, rank(tier) + 1)

/** The lower of two. */
export const lower = (one: Tier, other: Tier): Tier => (covers(one, other) ? other : one)

/** A tier as an OAuth scope: every scope that it includes. */
export const scopeOf = (tier: Tier): string => upTo(tier).join(" ")

/** The highest tier that an OAuth scope names; undefined: none. What is unknown is ignored. */
export const tierOfScope = (scope: string): Tier | undefined => {
  const named = scope.split(" ")
  return Tier.literals.filter((tier) => named.includes(tier)).at(-1)
}
