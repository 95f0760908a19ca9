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

/** The tiers in the words of a merchant, who chooses one on a page; agents are told of them by the same names. */
export const tierWords: Readonly<Record<Tier, { readonly name: string; readonly meaning: string }>> = {
  "pim:read": {
    name: "Read",
    meaning: "See your products, stores and data health. It changes nothing."
  },
  "pim:write": {
    name: "Read and edit drafts",
    meaning: "Also change drafts of your products. Nothing of it reaches a store until somebody publishes it."
  },
  "pim:publish": {
    name: "Read, edit and publish",
    meaning: "Also publish to your stores, where your customers see it."
  }
}
