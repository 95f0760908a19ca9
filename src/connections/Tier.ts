import { Option, Schema } from "effect"
import type { Role } from "../model/Role.ts"

/** Permissions of a connection, lowest first. Each tier includes the ones before it. */
export const Tier = Schema.Literal("pim:read", "pim:write", "pim:publish")
export type Tier = typeof Tier.Type

const rank = (tier: Tier): number => Tier.literals.indexOf(tier)

/** Whether a tier includes the needed one. */
export const covers = (tier: Tier, needed: Tier): boolean => rank(tier) >= rank(needed)

/** This tier and the ones it includes, lowest first. */
export const upTo = (tier: Tier): ReadonlyArray<Tier> => Tier.literals.slice(0, rank(tier) + 1)

export const lower = (one: Tier, other: Tier): Tier => (covers(one, other) ? other : one)

const tiersByRole: Readonly<Record<Role, Tier>> = {
  view: "pim:read",
  edit: "pim:write",
  publish: "pim:publish",
  admin: "pim:publish"
}

/** The highest tier that a user of this role can grant. It also bounds the connections that the user granted before. */
export const tierOfRole = (role: Role): Tier => tiersByRole[role]

/** A tier in one word, as in URLs and descriptions of tools: `read`, `write` or `publish`. */
export const shortName = (tier: Tier): string => tier.slice("pim:".length)

/**
 * The highest tier that the query of the connector's URL allows: `tier=read`, `tier=write` or `tier=publish`. An empty query
 * allows all tiers. None: any other query.
 */
export const tierOfQuery = (query: string): Option.Option<Tier> => {
  const parameters = [...new URLSearchParams(query)]
  const [name, word] = parameters[0] ?? ["tier", "publish"]
  return parameters.length > 1 || name !== "tier"
    ? Option.none()
    : Option.fromNullable(Tier.literals.find((tier) => shortName(tier) === word))
}

/** A tier as an OAuth scope: every scope that it includes. */
export const scopeOf = (tier: Tier): string => upTo(tier).join(" ")

/** The highest tier in an OAuth scope; undefined: none. Unknown scopes are ignored. */
export const tierOfScope = (scope: string): Tier | undefined => {
  const scopes = scope.split(" ")
  return Tier.literals.filter((tier) => scopes.includes(tier)).at(-1)
}

/** Names and descriptions of the tiers, for pages and for agents. */
export const tierWords: Readonly<Record<Tier, { readonly name: string; readonly meaning: string }>> = {
  "pim:read": {
    name: "Read",
    meaning: "See your products, stores and data health, without changing anything."
  },
  "pim:write": {
    name: "Read and edit drafts",
    meaning: "Also change drafts of your products. They reach a store only when somebody publishes them."
  },
  "pim:publish": {
    name: "Read, edit and publish",
    meaning: "Also publish to your stores."
  }
}
