import type { Tier } from "../domain/Tier.ts"

/** The tiers in the words of a merchant. */
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
