import { Schema } from "effect"

/** The roles of an account's users, lowest first. Each role has the rights of the ones before it. */
export const Role = Schema.Literal("view", "edit", "publish", "admin")
export type Role = typeof Role.Type

/** Whether a role includes the needed one. */
export const includesRole = (role: Role, needed: Role): boolean =>
  Role.literals.indexOf(role) >= Role.literals.indexOf(needed)

/** Names and descriptions of the roles, for pages and for the command line. */
export const roleWords: Readonly<Record<Role, { readonly name: string; readonly meaning: string }>> = {
  view: { name: "View", meaning: "See products, stores, imports and data health, without changing anything." },
  edit: { name: "Edit", meaning: "Also change drafts, import products and repair data." },
  publish: { name: "Publish", meaning: "Also publish to stores, schedule drops and control jobs." },
  admin: { name: "Administrator", meaning: "Also manage the team, API keys, webhooks and the agents of others." }
}
