import { Context, Effect, Layer, Option } from "effect"
import { MetafieldDefinitions } from "../drafts/MetafieldDefinitions.ts"
import { CurrentActor } from "../model/Actor.ts"
import { singleLineText, valueOf } from "../model/Attribute.ts"
import { attributeIssues, textIssues } from "../model/AttributeRules.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import type { EntityId } from "../model/Ids.ts"
import { DemoShops } from "../platform/demo/DemoShops.ts"
import { StoresRepo } from "../stores/StoresRepo.ts"
import { demoShopOf } from "./DemoFailures.ts"

const make = Effect.gen(function* () {
  const definitions = yield* MetafieldDefinitions
  const shops = yield* DemoShops
  const stores = yield* StoresRepo
  const shopOf = demoShopOf(stores, "have a shop that can be edited from here")

  return {
    /**
     * Changes one value of an entity in the store's shop, but not in the catalog; `""` empties it. Returns the old value. NotFound:
     * the shop has no record of the entity. ValidationFailed: there is no such store, it is not on the demo platform, or the
     * key or value would not be valid in a draft.
     */
    edit: Effect.fn("DemoEdits.edit")(function* (domain: string, entityId: EntityId, key: string, value: string) {
      const shop = yield* shopOf(domain)
      const found = yield* shops.find(shop, entityId)
      if (Option.isNone(found)) return yield* new NotFound()
      const record = found.value
      const { attributes, kind } = record
      const { accountId } = yield* CurrentActor
      const rules = yield* definitions.rulesFor(accountId, kind, [key])
      const edits = [{ key, value }]
      const issues = [...textIssues(edits), ...attributeIssues(kind, edits, rules, [attributes])]
      if (issues.length > 0) return yield* new ValidationFailed({ issues })
      const { [key]: _, ...others } = attributes
      const type = rules.typeOf(kind, key, [attributes]) ?? singleLineText
      yield* shops.put(shop, [{ ...record, attributes: value === "" ? others : { ...others, [key]: { value, type } } }])
      return { old: valueOf(attributes, key) }
    })
  }
})

/** Edits records in the shops of demo stores, so that a refresh finds changes. */
export class DemoEdits extends Context.Tag("catalog/DemoEdits")<DemoEdits, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(DemoEdits, make)
}
