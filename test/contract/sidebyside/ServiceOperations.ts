import * as fc from "fast-check"
import { HealthDimension, HealthSection } from "../../../src/health/Health.ts"
import { domains, kinds, type Operation, operation } from "./Operations.ts"

const nat = fc.nat({ max: 10_000 })
const kind = fc.constantFrom(...kinds)
const text = fc.constantFrom("", "Boots", "Hat", "TEE-XL", "1.50", "0", "free", '["winter","Boots"]', " ")
const key = fc.constantFrom(
  "title",
  "vendor",
  "product_type",
  "tags",
  "sku",
  "price",
  "alt",
  "seo_title",
  "url",
  "colour"
)
const domain = fc.constantFrom(...domains)
const minutes = fc.constantFrom(-1, 1, 10, 60)

const edit = fc.record({ key, value: fc.option(text) })

/** One edit of drafts. Its entities and stores are positions among those that exist when it is carried out. */
const draftOperation = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("draft" as const),
      entity: nat,
      store: fc.option(nat),
      edits: fc.array(edit, { minLength: 1, maxLength: 2 }),
      isLate: fc.nat({ max: 9 }).map((drawn) => drawn === 0),
      byAgent: fc.boolean()
    })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("create" as const),
      what: fc.constantFrom(
        "Product" as const,
        "Copy" as const,
        "Variant" as const,
        "Collection" as const,
        "Media" as const
      ),
      of: nat,
      title: text,
      option: fc.constantFrom("S", "M", ""),
      store: fc.option(nat),
      byAgent: fc.boolean()
    })
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom("addTo" as const, "removeFrom" as const),
      entity: nat,
      store: nat,
      byAgent: fc.boolean()
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      kind: fc.constantFrom("variant" as const, "product" as const),
      item: nat,
      of: nat,
      to: fc.constantFrom<["up", "down", number, number]>("up", "down", 1, 2)
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("changeMembers" as const),
      entity: nat,
      add: fc.array(nat, { maxLength: 2 }),
      remove: fc.array(nat, { maxLength: 2 })
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("showPictures" as const),
      kind: fc.constantFrom("variant" as const, "product" as const, "collection" as const),
      entity: nat,
      media: fc.array(fc.tuple(nat, fc.array(nat, { maxLength: 2 })), { maxLength: 2 })
    })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("undo" as const), minutes: fc.constantFrom(1, 1_000) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("bulk" as const),
      kind,
      change: fc.oneof(
        fc.record({ _tag: fc.constant("SetField" as const), store: fc.option(nat), key, value: fc.option(text) }),
        fc.record({ _tag: fc.constantFrom("AddToStore" as const, "RemoveFromStore" as const), store: nat }),
        fc.record({ _tag: fc.constant("Delete" as const), withMedia: fc.boolean() })
      ),
      entities: fc.array(nat, { maxLength: 3 })
    })
  }
)

/** One operation on publishes, drops, data health or the feed. */
const storeOperation = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("request" as const), entity: nat, store: nat, isAgain: fc.boolean() })
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("cancelPublish" as const), entity: nat, store: nat }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("work" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("breakShop" as const, "repairShop" as const), domain }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("drop" as const),
      changes: fc.array(fc.record({ entity: nat, store: fc.option(nat), key, value: text }), {
        minLength: 1,
        maxLength: 2
      }),
      startsIn: minutes,
      endsAfter: fc.option(minutes)
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancelDrop" as const), drop: nat }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("scan" as const),
      dimension: fc.constantFrom(...HealthDimension.literals),
      store: fc.option(nat)
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("issues" as const),
      section: fc.constantFrom(...HealthSection.literals),
      page: fc.constantFrom(1, 2),
      size: fc.constantFrom(1, 100),
      store: fc.option(nat)
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("fill" as const),
      kind,
      operations: fc.array(fc.record({ entity: nat, store: fc.option(nat), key, value: text }), { maxLength: 3 })
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("reconcile" as const),
      kind,
      operations: fc.array(fc.record({ entity: nat, winner: fc.option(nat), key, value: text }), { maxLength: 3 })
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("feed" as const),
      limit: fc.constantFrom(1, 5, 250),
      cursor: fc.option(nat)
    })
  }
)

/** One operation on a store's shop, or on the import that compares it with the catalog. */
const importOperation = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("refresh" as const), domain }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("editShop" as const),
      store: nat,
      record: nat,
      key,
      value: fc.option(text)
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("deleteInShop" as const), store: nat, record: nat }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("decide" as const),
      conflicts: fc.oneof(fc.constant("all" as const), fc.array(fc.constantFrom(1, 2, 3), { maxLength: 2 })),
      decision: fc.constantFrom("keep_draft" as const, "take_store" as const)
    })
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("acceptDecided" as const),
      rest: fc.option(fc.constant("keep_draft" as const)),
      confirmsRemovals: fc.boolean()
    })
  }
)

const defined = {
  owner: kind,
  key: fc.constantFrom("my.fit", "specs.hours", "x", "specs.tags"),
  type: fc.constantFrom("single_line_text_field", "number_integer", "list.single_line_text_field", "boolean", "no_type")
}

/** One change of definitions or of a metafield, or the cancellation of all publishes to a store. */
const definitionOperation = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("define" as const, "setType" as const, "undefine" as const),
      ...defined
    })
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("setField" as const),
      entity: nat,
      key: defined.key,
      value: fc.option(fc.constantFrom("12", "true", '["a","b"]', "snug"))
    })
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("cancelAll" as const), store: nat }) }
)

/** An operation of a service, or one of those between two comparisons of `Operations`. */
export const serviceOperation = fc.oneof(
  { weight: 2, arbitrary: operation },
  { weight: 3, arbitrary: draftOperation },
  { weight: 4, arbitrary: storeOperation },
  { weight: 2, arbitrary: importOperation },
  { weight: 2, arbitrary: definitionOperation },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), millis: fc.constantFrom(60_000, 600_000) }) }
)
export type ServiceOperation =
  | (typeof draftOperation extends fc.Arbitrary<infer A> ? A : never)
  | (typeof storeOperation extends fc.Arbitrary<infer A> ? A : never)
  | (typeof definitionOperation extends fc.Arbitrary<infer A> ? A : never)
  | (typeof importOperation extends fc.Arbitrary<infer A> ? A : never)

const others: ReadonlyArray<string> = [
  "apply",
  "link",
  "unlink",
  "import",
  "accept",
  "discard",
  "createKey",
  "revokeKey",
  "list",
  "version",
  "wait"
] satisfies ReadonlyArray<Operation["do"]>

export const isOfService = (each: Operation | ServiceOperation): each is ServiceOperation => !others.includes(each.do)

/** Operations that every sequence carries out first, each with an effect. The first entity is a product. */
export const serviceBeginning: ReadonlyArray<Operation | ServiceOperation> = [
  { do: "request", entity: 0, store: 0, isAgain: false },
  { do: "work" },
  {
    do: "drop",
    changes: [{ entity: 0, store: 0, key: "vendor", value: "Hat" }],
    startsIn: 1,
    endsAfter: 10
  },
  { do: "wait", millis: 60_000 },
  { do: "work" },
  { do: "draft", entity: 0, store: null, edits: [{ key: "title", value: "Hat" }], isLate: false, byAgent: true },
  { do: "undo", minutes: 1 },
  { do: "wait", millis: 600_000 },
  { do: "work" },
  { do: "create", what: "Product", of: 0, title: "Hat", option: "S", store: null, byAgent: false },
  { do: "bulk", kind: "product", change: { _tag: "Delete", withMedia: false }, entities: [1] },
  { do: "scan", dimension: "completeness", store: null },
  { do: "issues", section: "completeness-required", page: 1, size: 100, store: null },
  {
    do: "fill",
    kind: "product",
    operations: [{ entity: 0, store: null, key: "product_type", value: "Boots" }]
  },
  { do: "feed", limit: 5, cursor: null },
  { do: "define", owner: "product", key: "specs.hours", type: "number_integer" },
  { do: "setField", entity: 0, key: "specs.hours", value: "12" },
  { do: "setType", owner: "product", key: "specs.hours", type: "single_line_text_field" },
  { do: "undefine", owner: "product", key: "specs.hours", type: "single_line_text_field" },
  { do: "editShop", store: 0, record: 0, key: "vendor", value: "Boots" },
  { do: "draft", entity: 0, store: 0, edits: [{ key: "vendor", value: "free" }], isLate: false, byAgent: false },
  { do: "refresh", domain: "b.example" },
  { do: "decide", conflicts: "all", decision: "keep_draft" },
  { do: "acceptDecided", rest: null, confirmsRemovals: true },
  // Two fields whose order PostgreSQL's JSON does not keep.
  { do: "editShop", store: 0, record: 0, key: "title", value: "TEE-XL" },
  { do: "editShop", store: 0, record: 0, key: "tags", value: '["winter","Boots"]' },
  { do: "refresh", domain: "b.example" },
  { do: "acceptDecided", rest: null, confirmsRemovals: true }
]
