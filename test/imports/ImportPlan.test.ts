import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import type { Aggregate } from "../../src/catalog/Aggregate.ts"
import { CatalogChange, type LockedCatalog } from "../../src/drafts/CatalogChange.ts"
import { planChanges, stateAfter } from "../../src/drafts/ChangePlan.ts"
import type { ImportedProduct } from "../../src/imports/ImportedProduct.ts"
import { resolveConflicts } from "../../src/imports/plan/ImportPlan.ts"
import { planProduct } from "../../src/imports/plan/ProductPlan.ts"
import { effective, valueOf } from "../../src/model/Attribute.ts"
import { EntityId, StoreId } from "../../src/model/Ids.ts"
import { Timestamp } from "../../src/model/Timestamp.ts"

const uuid = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`
const us = StoreId.make(uuid(1))
const eu = StoreId.make(uuid(2))

interface Row {
  readonly sku: string
  readonly size: string
}
const s = { sku: "M-S", size: "S" }
const m = { sku: "M-M", size: "M" }
const l = { sku: "M-L", size: "L" }

const product = (variants: ReadonlyArray<Row>, images: ReadonlyArray<string>, named = "Size"): ImportedProduct => ({
  line: 2,
  handle: "mug",
  values: {
    handle: "mug",
    title: "Mug",
    options: JSON.stringify([{ name: named, values: variants.map(({ size }) => size) }])
  },
  variants: variants.map(({ size, sku }, index) => ({
    line: 2 + index,
    values: { sku, option1: size, option2: "", option3: "", title: size },
    imageUrl: null
  })),
  images: images.map((name, index) => ({
    line: 2 + index,
    url: `https://cdn.example/${name}.jpg`,
    position: index + 1,
    alt: null
  }))
})

/** A catalog into which files are imported, one after another. */
const makeCatalog = () => {
  let minted = 100
  let locked: LockedCatalog = {
    now: Timestamp.make("2026-01-01T00:00:00.000000Z"),
    storeIds: [us, eu],
    aggregates: new Map(),
    revisions: new Map(),
    sequences: new Map(),
    kinds: new Map(),
    summaries: new Map(),
    unreadMembers: new Map()
  }
  const all = (kind: Aggregate["kind"]) => [...locked.aggregates.values()].filter((entity) => entity.kind === kind)
  const variants = () => all("variant").sort((left, right) => (left.position ?? 0) - (right.position ?? 0))
  const found = () => {
    const [only] = all("product")
    assert.isDefined(only)
    return only as Aggregate
  }
  const apply = (changes: ReadonlyArray<CatalogChange>) => {
    const plan = Either.getOrThrow(planChanges(locked, changes))
    locked = stateAfter(locked, plan)
    return plan
  }
  return {
    apply,
    product: found,
    variants,
    bring: (storeId: StoreId, imported: ImportedProduct, sharedMedia: ReadonlySet<EntityId> = new Set()) => {
      const plan = planProduct(
        imported,
        { product: all("product")[0], variants: variants(), media: all("media"), sharedMedia },
        { storeId, isComplete: false },
        () => EntityId.make(uuid(minted++))
      )
      apply(resolveConflicts(plan.changes, () => false))
      return { outcome: plan.outcome, conflicts: plan.conflicts.length, changes: plan.changes.length }
    },
    sizes: () => variants().map(({ attributes }) => valueOf(attributes, "option1")),
    images: () =>
      found().gallery.map(({ mediaId }) => {
        const media = locked.aggregates.get(mediaId)
        return media === undefined ? "" : valueOf(media.attributes, "file_name").replace(".jpg", "")
      }),
    addressOf: (mediaId: EntityId | undefined, storeId: StoreId) => {
      const media = all("media").find(({ id }) => id === mediaId)
      const version = media?.versions.find((each) => each.storeId === storeId)
      return valueOf(effective(media?.attributes ?? {}, version?.overrides ?? {}), "url")
    },
    options: (storeId: StoreId) => {
      const { attributes, versions } = found()
      const version = versions.find((each) => each.storeId === storeId)
      return valueOf(effective(attributes, version?.overrides ?? {}), "options")
    },
    overrides: (storeId: StoreId) =>
      Object.keys(found().versions.find((each) => each.storeId === storeId)?.overrides ?? {}),
    isPending: (storeId: StoreId) => found().versions.find((each) => each.storeId === storeId)?.pendingPublish
  }
}

const options = (...values: ReadonlyArray<string>) => JSON.stringify([{ name: "Size", values }])
const unchanged = { outcome: "unchanged", conflicts: 0, changes: 0 }

describe("the order of images", () => {
  it("follows the file in the only store, and the same file again changes nothing", () => {
    const catalog = makeCatalog()
    const [abc, cab] = [product([s], ["a", "b", "c"]), product([s], ["c", "a", "b"])]
    catalog.bring(us, abc)
    for (const [file, order] of [
      [cab, ["c", "a", "b"]],
      [abc, ["a", "b", "c"]],
      [cab, ["c", "a", "b"]]
    ] as const) {
      assert.deepInclude(catalog.bring(us, file), { outcome: "updated", conflicts: 0 })
      assert.deepStrictEqual(catalog.images(), [...order])
      assert.isFalse(catalog.isPending(us))
      assert.deepStrictEqual(catalog.bring(us, file), unchanged)
    }
  })

  it("puts new images at their positions in the file, and keeps images that the file does not name", () => {
    const catalog = makeCatalog()
    catalog.bring(us, product([s], ["a", "b", "c"]))
    // "d" has the position of "c". The file also names "c", so "d" is a new image, not a new address of "c".
    const file = product([s], ["c", "a", "d"])
    catalog.bring(us, file)
    assert.deepStrictEqual(catalog.images(), ["c", "b", "a", "d"])
    assert.isFalse(catalog.isPending(us))
    assert.deepStrictEqual(catalog.bring(us, file), unchanged)
  })

  it("has a new file for an image with a new address, unless that replaces an image of this store and product alone", () => {
    const catalog = makeCatalog()
    catalog.bring(us, product([s], ["film", "a", "b"]))
    const [film, a, b] = catalog.product().gallery.map(({ mediaId }) => mediaId) as [EntityId, EntityId, EntityId]
    catalog.apply([CatalogChange.SetAttributes({ entityId: film, values: { mime_type: "video/mp4" } })])
    // A file lists no video, so its first image is "a". Another product shows "b".
    catalog.bring(us, product([s], ["a2", "b2"]), new Set([b]))
    assert.deepStrictEqual(
      [film, a, b].map((id) => catalog.addressOf(id, us)),
      ["film", "a2", "b"].map((name) => `https://cdn.example/${name}.jpg`)
    )
    assert.deepStrictEqual(catalog.images(), ["film", "a", "b", "b2"])
    // The store does not show the images of the other store.
    catalog.bring(eu, product([s], ["c"]))
    assert.strictEqual(catalog.addressOf(a, eu), "https://cdn.example/a2.jpg")
    assert.deepStrictEqual(catalog.images(), ["film", "a", "b", "b2", "c"])
  })

  it("leaves out an image without a web address, because no file lists it", () => {
    const catalog = makeCatalog()
    catalog.bring(us, product([s], ["none", "a", "b"]))
    const [none, a, b] = catalog.product().gallery.map(({ mediaId }) => mediaId) as [EntityId, EntityId, EntityId]
    for (const url of ["", "gid://shop/File/1"]) {
      catalog.apply([CatalogChange.SetAttributes({ entityId: none, values: { url } })])
      const next = url === "" ? ["a2", "b2"] : ["a3", "b3"]
      catalog.bring(us, product([s], next))
      assert.deepStrictEqual(
        [none, a, b].map((id) => catalog.addressOf(id, us)),
        [url, ...next.map((name) => `https://cdn.example/${name}.jpg`)]
      )
      assert.deepStrictEqual(catalog.bring(us, product([s], next)), unchanged)
    }
  })

  it("is not changed if several stores show the images, and the store is pending", () => {
    const catalog = makeCatalog()
    const file = product([s], ["c", "b", "a"])
    catalog.bring(us, product([s], ["a", "b", "c"]))
    assert.deepInclude(catalog.bring(eu, file), { outcome: "updated", conflicts: 0 })
    assert.deepStrictEqual(catalog.images(), ["a", "b", "c"])
    assert.deepStrictEqual([catalog.isPending(us), catalog.isPending(eu)], [false, true])
    assert.deepStrictEqual(catalog.bring(eu, file), unchanged)
    assert.deepStrictEqual(catalog.bring(us, product([s], ["a", "b", "c"])), unchanged)
  })

  it("follows the file for the images that no other store shows", () => {
    const catalog = makeCatalog()
    catalog.bring(us, product([s], ["a", "b"]))
    catalog.bring(eu, product([s], ["a", "b", "x", "y"]))
    const file = product([s], ["y", "x", "b", "a"])
    catalog.bring(eu, file)
    assert.deepStrictEqual(catalog.images(), ["a", "b", "y", "x"])
    assert.deepStrictEqual(catalog.bring(eu, file), unchanged)
  })

  it("ends with those that only variants name, which a later file does not replace", () => {
    const catalog = makeCatalog()
    const ofVariants = (images: ReadonlyArray<string>, ...own: ReadonlyArray<string>): ImportedProduct => {
      const file = product([s, m, l], images)
      return {
        ...file,
        variants: file.variants.map((variant, index) => ({
          ...variant,
          imageUrl: own[index] === undefined ? "" : `https://cdn.example/${own[index]}`
        }))
      }
    }
    const shown = () =>
      catalog.variants().map(({ gallery }) => gallery.map(({ mediaId }) => catalog.addressOf(mediaId, us)))
    const file = ofVariants(["a"], "own.jpg", "own.jpg?v=2", "a.jpg")
    catalog.bring(us, file)
    assert.deepStrictEqual(catalog.images(), ["a", "own"])
    assert.isFalse(catalog.isPending(us))
    const [a, own] = ["a", "own"].map((name) => `https://cdn.example/${name}.jpg`)
    assert.deepStrictEqual(shown(), [[own], [own], [a]])
    assert.deepStrictEqual(catalog.bring(us, file), unchanged)
    catalog.bring(us, ofVariants(["a", "b"], "own.jpg"))
    assert.deepStrictEqual(catalog.images(), ["a", "b", "own"])
    assert.deepStrictEqual(shown(), [[own], [own], [a]])
  })

  it("shows another picture of a variant before the earlier ones of the store", () => {
    const catalog = makeCatalog()
    const naming = (own: string): ImportedProduct => {
      const file = product([s], ["a"])
      return { ...file, variants: file.variants.map((variant) => ({ ...variant, imageUrl: own })) }
    }
    const address = (name: string) => `https://cdn.example/${name}.jpg`
    const shown = () =>
      catalog
        .variants()
        .flatMap(({ gallery }) =>
          gallery.map(({ mediaId, storeIds }) => [catalog.addressOf(mediaId, us), storeIds.length])
        )
    for (const name of ["x", "y"]) catalog.bring(us, naming(address(name)))
    assert.deepStrictEqual(shown(), [
      [address("y"), 1],
      [address("x"), 1]
    ])
    assert.deepStrictEqual(catalog.bring(us, naming(address("y"))), unchanged)
    // The other store shows a picture that the variant has already: all stores share its place.
    catalog.bring(eu, naming(address("x")))
    assert.deepStrictEqual(shown(), [
      [address("y"), 1],
      [address("x"), 2]
    ])
    catalog.bring(eu, naming(address("z")))
    assert.deepStrictEqual(shown(), [
      [address("y"), 1],
      [address("z"), 1],
      [address("x"), 2]
    ])
  })

  it("does not get a picture that a variant shows here already, and the product never did", () => {
    const catalog = makeCatalog()
    const naming = (own: ReadonlyArray<string>): ImportedProduct => {
      const file = product([s, m], ["a"])
      return { ...file, variants: file.variants.map((variant, index) => ({ ...variant, imageUrl: own[index] ?? "" })) }
    }
    const own = "https://cdn.example/own.jpg"
    catalog.bring(us, naming([own]))
    const { gallery, id } = catalog.product()
    catalog.apply([
      CatalogChange.SetGallery({ entityId: id, entries: gallery.slice(0, 1) }),
      CatalogChange.AcceptPublish({ entityId: id, storeId: us })
    ])
    assert.deepStrictEqual(catalog.bring(us, naming([own])), unchanged)
    assert.deepStrictEqual(catalog.images(), ["a"])
    // Another variant names it too, and does not show it yet.
    catalog.bring(us, naming([own, `${own}?v=2`]))
    assert.deepStrictEqual(catalog.images(), ["a", "own"])
    assert.deepStrictEqual(
      catalog.variants().map((each) => each.gallery.map(({ mediaId }) => catalog.addressOf(mediaId, us))),
      [[own], [own]]
    )
    assert.deepStrictEqual(catalog.bring(us, naming([own, own])), unchanged)
  })

  it("treats an address of the store as the same image", () => {
    const catalog = makeCatalog()
    catalog.bring(us, product([s], ["a", "b", "c"]))
    const [, b] = catalog.product().gallery
    assert.isDefined(b)
    // "b" is shown on another store too, so the image that replaces it here is an override.
    catalog.apply([CatalogChange.AddToStore({ entityId: b?.mediaId as EntityId, storeId: eu })])
    const [replaced, plain] = [product([s], ["c", "x"]), product([s], ["a", "b", "c"])]
    for (const [file, order] of [
      [replaced, ["a", "c", "b"]],
      [plain, ["a", "b", "c"]],
      [replaced, ["a", "c", "b"]]
    ] as const) {
      assert.deepInclude(catalog.bring(us, file), { outcome: "updated", conflicts: 0 })
      assert.deepStrictEqual(catalog.images(), [...order])
      assert.strictEqual(catalog.addressOf(b?.mediaId, us), `https://cdn.example/${file === plain ? "b" : "x"}.jpg`)
      assert.deepStrictEqual(catalog.bring(us, file), unchanged)
    }
  })

  it("stays that of a draft if the store's order of images is unchanged; otherwise it is a conflict, and the store's order is proposed", () => {
    const catalog = makeCatalog()
    const abc = product([s], ["a", "b", "c"])
    catalog.bring(us, abc)
    const { gallery, id } = catalog.product()
    catalog.apply([CatalogChange.SetGallery({ entityId: id, entries: [...gallery].reverse() })])
    assert.deepStrictEqual(catalog.bring(us, abc), unchanged)
    assert.deepStrictEqual(catalog.images(), ["c", "b", "a"])
    assert.isTrue(catalog.isPending(us))
    const bac = product([s], ["b", "a", "c"])
    assert.deepInclude(catalog.bring(us, bac), { outcome: "updated", conflicts: 1 })
    assert.deepStrictEqual(catalog.images(), ["b", "a", "c"])
    assert.isFalse(catalog.isPending(us))
    assert.deepStrictEqual(catalog.bring(us, bac), unchanged)
  })
})

describe("the order of variants", () => {
  it("follows the file in the only store, its options too, and the same file again changes nothing", () => {
    const catalog = makeCatalog()
    const [sml, lsm] = [product([s, m, l], []), product([l, s, m], [])]
    catalog.bring(us, sml)
    for (const [file, order] of [
      [lsm, ["L", "S", "M"]],
      [sml, ["S", "M", "L"]],
      [lsm, ["L", "S", "M"]]
    ] as const) {
      assert.deepInclude(catalog.bring(us, file), { outcome: "updated", conflicts: 0 })
      assert.deepStrictEqual(catalog.sizes(), [...order])
      assert.strictEqual(catalog.options(us), options(...order))
      assert.isFalse(catalog.isPending(us))
      assert.deepStrictEqual(catalog.bring(us, file), unchanged)
    }
  })

  it("puts a new variant at its position in the file", () => {
    const catalog = makeCatalog()
    const file = product([l, s, m], [])
    catalog.bring(us, product([s, m], []))
    catalog.bring(us, file)
    assert.deepStrictEqual(catalog.sizes(), ["L", "S", "M"])
    assert.strictEqual(catalog.options(us), options("L", "S", "M"))
    assert.isFalse(catalog.isPending(us))
    assert.deepStrictEqual(catalog.bring(us, file), unchanged)
  })

  it("is kept on several stores; options that differ only in order are not an override", () => {
    const catalog = makeCatalog()
    const [sml, lms] = [product([s, m, l], []), product([l, m, s], [])]
    catalog.bring(us, sml)
    for (const [storeId, file] of [
      [eu, lms],
      [us, lms],
      [eu, sml],
      [us, sml]
    ] as const) {
      catalog.bring(storeId, file)
      assert.deepStrictEqual(catalog.sizes(), ["S", "M", "L"])
      assert.strictEqual(catalog.isPending(storeId), file === lms)
      for (const each of [us, eu]) {
        assert.deepStrictEqual(catalog.overrides(each), [])
        assert.strictEqual(catalog.options(each), options("S", "M", "L"))
      }
      assert.deepStrictEqual(catalog.bring(storeId, file), unchanged)
    }
  })

  it("stays that of a draft if the store's order of variants is unchanged; otherwise it is a conflict, and the store's order is proposed", () => {
    const catalog = makeCatalog()
    const sml = product([s, m, l], [])
    catalog.bring(us, sml)
    const productId = catalog.product().id
    catalog.apply([
      CatalogChange.OrderVariants({
        productId,
        variantIds: catalog
          .variants()
          .map(({ id }) => id)
          .reverse()
      })
    ])
    assert.deepStrictEqual(catalog.bring(us, sml), unchanged)
    assert.deepStrictEqual(catalog.sizes(), ["L", "M", "S"])
    const msl = product([m, s, l], [])
    assert.deepInclude(catalog.bring(us, msl), { outcome: "updated", conflicts: 1 })
    assert.deepStrictEqual(catalog.sizes(), ["M", "S", "L"])
    assert.strictEqual(catalog.options(us), options("M", "S", "L"))
    assert.deepStrictEqual(catalog.bring(us, msl), unchanged)
  })
})

describe("a variant without options", () => {
  const without: Row = { sku: "", size: "" }
  const defaultTitle: Row = { sku: "", size: "Default Title" }
  for (const [name, before, after] of [
    ["is the one of a file that names it Default Title", without, defaultTitle],
    ["called Default Title is the one of a file without option columns", defaultTitle, without]
  ] as const)
    it(name, () => {
      const catalog = makeCatalog()
      catalog.bring(us, product([before], []))
      catalog.bring(us, product([after], []))
      assert.deepStrictEqual(catalog.sizes(), [after.size])
    })
})

describe("the options of a product if the file has only some of its variants", () => {
  it("keep the values of variants that stay on the store", () => {
    const catalog = makeCatalog()
    const [both, one] = [product([s, m], []), product([m], [])]
    catalog.bring(us, both)
    assert.deepStrictEqual(catalog.bring(us, one), unchanged)
    catalog.bring(eu, both)
    assert.deepStrictEqual(catalog.bring(eu, one), unchanged)
    assert.deepStrictEqual([catalog.overrides(eu), catalog.options(eu)], [[], options("S", "M")])
    const more = product([l, m], [])
    catalog.bring(eu, more)
    assert.deepStrictEqual([catalog.options(us), catalog.options(eu)], [options("S", "M"), options("S", "M", "L")])
    assert.deepStrictEqual(catalog.bring(eu, more), unchanged)
  })

  it("exclude the values of variants that are only on another store", () => {
    const catalog = makeCatalog()
    const one = product([m], [])
    catalog.bring(us, product([s, m], []))
    catalog.bring(eu, one)
    assert.strictEqual(catalog.options(eu), options("M"))
    assert.deepStrictEqual(catalog.bring(eu, one), unchanged)
  })

  it("have the file's name", () => {
    const catalog = makeCatalog()
    const one = product([m], [], "Format")
    catalog.bring(us, product([s, m], []))
    catalog.bring(us, one)
    assert.strictEqual(catalog.options(us), JSON.stringify([{ name: "Format", values: ["S", "M"] }]))
    assert.deepStrictEqual(catalog.bring(us, one), unchanged)
  })

  it("keep an option without a column in the file", () => {
    const catalog = makeCatalog()
    const colours = (rows: ReadonlyArray<Row>): ImportedProduct => {
      const plain = product(rows, [])
      return {
        ...plain,
        values: {
          ...plain.values,
          options: JSON.stringify([
            { name: "Size", values: rows.map(({ size }) => size) },
            { name: "Colour", values: ["Red"] }
          ])
        },
        variants: plain.variants.map((variant) => ({ ...variant, values: { ...variant.values, option2: "Red" } }))
      }
    }
    const whole = colours([s, m])
    catalog.bring(us, whole)
    const plain = product([s, m], [])
    const without: ImportedProduct = {
      ...plain,
      variants: plain.variants.map(({ values: { option2: _, option3: __, ...values }, ...variant }) => ({
        ...variant,
        values
      }))
    }
    assert.deepStrictEqual(catalog.bring(us, without), unchanged)
    assert.strictEqual(catalog.options(us), whole.values.options)
  })

  it("are those of the file if it names the second option but not the first", () => {
    const catalog = makeCatalog()
    const plain = product([s, m], [])
    const second: ImportedProduct = {
      ...plain,
      variants: plain.variants.map((variant) => ({
        ...variant,
        values: { ...variant.values, option1: "", option2: variant.values.option1 ?? "" }
      }))
    }
    catalog.bring(us, second)
    assert.deepStrictEqual(catalog.bring(us, second), unchanged)
    assert.strictEqual(catalog.options(us), options("S", "M"))
  })
})
