import { allScopes } from "./ShopifyAccess.ts"
import { addValues, complaint, linkedErrors, namesOf, optionErrors, takenErrors } from "./ShopifyOptions.ts"
import { mediaIdErrors } from "./ShopifyPictures.ts"

/**
 * A shop in memory, in the form that the resolvers of Shopify's schema read. Fields have Shopify's names; methods take
 * the arguments of the schema.
 */

export interface Metafield {
  readonly namespace: string
  readonly key: string
  readonly type: string
  readonly value: string
  readonly createdAt?: string
}

// biome-ignore lint/suspicious/noExplicitAny: inputs come coerced by the schema that is under test.
export type Input = any

interface PageArguments {
  readonly first?: number | null
  readonly after?: string | null
}

/** A page of a connection; without `first`, as in bulk operations, all of it. */
export const connection = (items: ReadonlyArray<unknown>, { after, first }: PageArguments = {}) => {
  const start = after == null ? 0 : Number(after)
  const end = first == null ? items.length : Math.min(items.length, start + first)
  const nodes = items.slice(start, end)
  return {
    nodes,
    edges: nodes.map((node, index) => ({ node, cursor: String(start + index + 1) })),
    pageInfo: {
      hasNextPage: end < items.length,
      hasPreviousPage: start > 0,
      endCursor: String(end),
      startCursor: String(start)
    }
  }
}

export interface Owner {
  readonly id: string
  metafieldValues: Array<Metafield>
}

export interface Variant extends Owner {
  sku: string
  barcode: string
  price: string
  compareAtPrice: string | null
  taxable: boolean
  requiresShipping: boolean
  weight: { readonly value: number; readonly unit: string } | null
  options: ReadonlyArray<{ readonly name: string; readonly value: string }>
  /** The file of its product's gallery that the shop shows for it. */
  pictureId: string | null
}

export interface Product extends Owner {
  createdAt: string
  values: Record<string, unknown>
  /** Whether the values of its options are linked to metafields. */
  isLinked?: boolean
  optionList: ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<string> }>
  gallery: Array<string>
  variantList: Array<Variant>
}

export interface Collection extends Owner {
  values: Record<string, unknown>
  sourceId: string | null
  memberIds: Array<string>
  /** Members by conditions of the store itself. */
  conditionIds: Array<string>
  /** Members that were put into an order. Others are behind them. */
  orderedIds: ReadonlyArray<string>
}

/** The members of a collection in the order of the shop. */
export const membersOf = ({ conditionIds, memberIds, orderedIds, values }: Collection): ReadonlyArray<string> => {
  const members = new Set([...memberIds, ...conditionIds])
  if (values.sortOrder !== "MANUAL") return [...members]
  return [...new Set([...orderedIds.filter((id) => members.has(id)), ...members])]
}

/** A change that the shop makes later: at one of the reads of its state, as nothing else tells a client that it is made. */
interface Job {
  readonly collectionId: string
  readonly change: () => void
  reads: number
}

export interface ShopFile {
  readonly id: string
  readonly __typename: string
  readonly filename: string
  readonly url: string
  alt: string
  /** The status after its processing. */
  status: "READY" | "FAILED"
  /** How many more reads find it in processing. */
  processing: number
  /** How many more searches do not find it. */
  unlisted: number
}

const isSameKey = (one: Metafield, other: Metafield) => one.key === other.key && one.namespace === other.namespace

/** A metafield that is written again keeps the time of its creation. */
const merged = (there: ReadonlyArray<Metafield>, more: ReadonlyArray<Metafield>) => [
  ...there.filter((field) => !more.some((each) => isSameKey(each, field))),
  ...more.map((field) => {
    const { key, namespace, type, value } = field
    const { createdAt = new Date().toISOString() } = there.find((each) => isSameKey(each, field)) ?? {}
    return { key, namespace, type, value, createdAt }
  })
]

type Described = Owner & Partial<Pick<Product, "values">>

/** Shopify keeps the SEO title and description of a product or collection in metafields, and lists these too. */
const seoTags: Readonly<Record<string, string>> = { title_tag: "title", description_tag: "description" }

const seoOf = ({ values = {} }: Described) => (values.seo ?? {}) as Readonly<Record<string, string | undefined>>

/** The metafields of a record as Shopify lists them. */
export const listedMetafields = (owner: Described): ReadonlyArray<Metafield> => [
  ...owner.metafieldValues,
  ...Object.entries(seoTags).flatMap(([key, name]) => {
    const value = seoOf(owner)[name] ?? ""
    return value === "" ? [] : [{ namespace: "global", key, type: "single_line_text_field", value }]
  })
]

const setMetafield = (owner: Described, field: Metafield) => {
  const name = field.namespace === "global" ? seoTags[field.key] : undefined
  if (name === undefined || owner.values === undefined) owner.metafieldValues = merged(owner.metafieldValues, [field])
  else owner.values.seo = { ...seoOf(owner), [name]: field.value }
}

const reserved: ReadonlySet<string> = new Set(["shopify_standard", "protected", "shopify-l10n-fields"])

/** Why a metafield is refused, as recorded from Shopify's Admin API: a part of it (null: all of it), the message and the code. */
const metafieldMisfit = ({
  key,
  namespace,
  type,
  value
}: Metafield): readonly [string | null, string, string | null] | null => {
  if (namespace.startsWith("app--"))
    return [
      null,
      "Access to this namespace and key on Metafields for this resource type is not allowed.",
      "APP_NOT_AUTHORIZED"
    ]
  if (reserved.has(namespace)) return ["namespace", `Namespace ${namespace} is a reserved namespace`, null]
  if (namespace.length < 3) return ["namespace", "Namespace is too short (minimum is 3 characters)", "TOO_SHORT"]
  if (key.length < 2) return ["key", "Key is too short (minimum is 2 characters)", "TOO_SHORT"]
  if (value.trim() === "") return ["value", "Value can't be blank.", "INVALID_VALUE"]
  if (type === "number_integer" && !/^-?\d+$/.test(value))
    return ["value", "Value must be an integer.", "INVALID_VALUE"]
  return null
}

/** The refusals of metafields. `path`: of their owner in the input. A code is recorded only for `metafieldsSet`. */
const metafieldErrors = (metafields: ReadonlyArray<Metafield> = [], path: ReadonlyArray<string> = []) =>
  metafields.flatMap((metafield, index) => {
    const misfit = metafieldMisfit(metafield)
    if (misfit === null) return []
    const [part, message, code] = misfit
    const field = [...path, "metafields", String(index), ...(part === null ? [] : [part])]
    return [{ field, message, code: path.length === 0 ? code : null }]
  })

const variantErrors = (variants: ReadonlyArray<Input>, path: ReadonlyArray<string> = []) =>
  variants.flatMap((variant, index) => [
    ...(Number(variant.price ?? 0) < 1e18
      ? []
      : [
          { field: [...path, "variants", String(index)], message: "must be less than 1000000000000000000", code: null }
        ]),
    ...metafieldErrors(variant.metafields, [...path, "variants", String(index)])
  ])

const typeNames: Record<string, string> = {
  IMAGE: "MediaImage",
  VIDEO: "Video",
  MODEL_3D: "Model3d",
  EXTERNAL_VIDEO: "ExternalVideo"
}

export class ShopifyShop {
  readonly products = new Map<string, Product>()
  readonly collections = new Map<string, Collection>()
  readonly files = new Map<string, ShopFile>()
  readonly definitions = new Set<string>()
  /** The access scopes of its token. */
  scopes: ReadonlySet<string> = allScopes
  /** The created records, by kind: a duplicate is visible here. */
  readonly made: Array<string> = []
  /** The answers for sections that the catalog only reads. */
  readonly sections: Record<string, ReadonlyArray<unknown>> = {}
  /** How many reads find a new file in processing. Until then it has no address and takes no changes. */
  processing = 0
  /** How many searches do not find a new file. */
  searchLag = 0
  /** How many reads of a job find that it is not done. Members are changed by a job only if it is set, moves always. */
  jobLag = 0
  readonly redirects: Array<{ readonly path: string; readonly target: string }> = []
  /** Whether it refuses to put records on publications. */
  refusesPlaces = false
  /** The publications that records are on, by record. */
  readonly places = new Map<string, Set<string>>()
  /** The moves of members, by call. */
  readonly moves: Array<ReadonlyArray<Input>> = []
  readonly #jobs = new Map<string, Job>()
  #lastId = 0

  #id(kind: string) {
    this.#lastId += 1
    this.made.push(kind)
    return `gid://shopify/${kind}/${this.#lastId}`
  }

  owners(): ReadonlyArray<Owner> {
    const products = [...this.products.values()]
    return [...products, ...products.flatMap(({ variantList }) => variantList), ...this.collections.values()]
  }

  #byCustomId<A extends Owner>(owners: Iterable<A>, owner: string, { key, namespace, value }: Metafield): A | null {
    if (!this.definitions.has(`${owner} ${namespace}.${key}`)) throw new Error(`no id definition for ${owner}`)
    const isIt = (field: Metafield) => field.key === key && field.namespace === namespace && field.value === value
    return [...owners].find(({ metafieldValues }) => metafieldValues.some(isIt)) ?? null
  }

  findProduct({ customId, handle, id }: Input): Product | null {
    const products = [...this.products.values()]
    if (customId != null) return this.#byCustomId(products, "PRODUCT", customId)
    return products.find((product) => product.id === id || (handle != null && product.values.handle === handle)) ?? null
  }

  findVariant({ customId, id }: Input): readonly [Product, Variant] | null {
    const pairs = [...this.products.values()].flatMap((product) =>
      product.variantList.map((variant) => [product, variant] as const)
    )
    const found =
      customId == null
        ? null
        : this.#byCustomId(
            pairs.map(([, variant]) => variant),
            "PRODUCTVARIANT",
            customId
          )
    return pairs.find(([, variant]) => variant === found || variant.id === id) ?? null
  }

  findCollection({ customId, handle, id }: Input): Collection | null {
    const collections = [...this.collections.values()]
    if (customId != null) return this.#byCustomId(collections, "COLLECTION", customId)
    return collections.find((found) => found.id === id || (handle != null && found.values.handle === handle)) ?? null
  }

  searchFiles(isSought: (file: ShopFile) => boolean): ReadonlyArray<ShopFile> {
    return [...this.files.values()].filter((file) => {
      if (file.unlisted > 0) {
        file.unlisted -= 1
        return false
      }
      return isSought(file)
    })
  }

  makeFile({ alt, contentType, filename, originalSource }: Input): ShopFile {
    const wanted: string = filename ?? originalSource.split("/").at(-1)
    const isTaken = [...this.files.values()].some((file) => file.status === "READY" && file.filename === wanted)
    const name = isTaken ? wanted.replace(/(\.[^.]*)?$/, `_${crypto.randomUUID()}$1`) : wanted
    const __typename = typeNames[contentType ?? "IMAGE"] ?? "GenericFile"
    const id = this.#id(__typename)
    const url = __typename === "ExternalVideo" ? originalSource : `https://cdn.example/files/${name}?v=1`
    // Shopify accepts an address from which it cannot fetch a file. Only the status of the file says that it failed.
    const status = originalSource.includes("broken") ? "FAILED" : "READY"
    const file: ShopFile = {
      id,
      __typename,
      filename: name,
      url,
      alt: alt ?? "",
      status,
      processing: this.processing,
      unlisted: this.searchLag
    }
    this.files.set(id, file)
    return file
  }

  #fillVariant(variant: Variant, input: Input) {
    const { inventoryItem: item, optionValues } = input
    if ("barcode" in input) variant.barcode = input.barcode
    if ("price" in input) variant.price = Number(input.price).toFixed(2)
    if ("compareAtPrice" in input)
      variant.compareAtPrice = input.compareAtPrice === null ? null : Number(input.compareAtPrice).toFixed(2)
    if ("taxable" in input) variant.taxable = input.taxable
    if (item !== undefined) {
      if ("sku" in item) variant.sku = item.sku
      if ("requiresShipping" in item) variant.requiresShipping = item.requiresShipping
      if ("measurement" in item) variant.weight = item.measurement.weight
    }
    if (optionValues !== undefined)
      variant.options = optionValues.map(({ name, optionName }: Input) => ({ name: optionName, value: name }))
    // As productSet is documented: items of a list field that are not in the input are removed.
    if (input.metafields !== undefined) variant.metafieldValues = merged([], input.metafields)
  }

  makeVariant(product: Product, input: Input): Variant {
    const variant: Variant = {
      id: this.#id("ProductVariant"),
      sku: "",
      barcode: "",
      price: "0.00",
      compareAtPrice: null,
      taxable: true,
      requiresShipping: true,
      weight: { value: 0, unit: "KILOGRAMS" },
      options: [],
      pictureId: input.mediaId ?? null,
      metafieldValues: []
    }
    this.#fillVariant(variant, input)
    product.variantList.push(variant)
    return variant
  }

  productSet({ identifier, input }: Input) {
    if (input.title === "")
      return { product: null, ...complaint(["input", "title"], "Title can't be blank", "INVALID_INPUT") }
    if (input.title?.length > 255)
      return {
        product: null,
        userErrors: [{ field: ["input", "title"], message: "is too long (maximum is 255 characters)" }]
      }
    const { files, metafields, productOptions, variants, ...values } = input
    const names: ReadonlyArray<string> = (productOptions ?? []).map(({ name }: Input) => name)
    const misnamed = names.findIndex((name) => name.includes(" / "))
    if (misnamed >= 0) {
      const field = ["input", "productOptions", String(misnamed), "name"]
      return { product: null, ...complaint(field, "The name contains unsupported sequence ' / '", "INVALID_INPUT") }
    }
    const refused = variantErrors(variants ?? [], ["input"])
    if (refused.length > 0) return { product: null, userErrors: refused }
    const strange = optionErrors(
      new Set(names),
      productOptions == null ? [] : (variants ?? []),
      "OPTION_DOES_NOT_EXIST",
      ["input"]
    )
    if (strange.length > 0) return { product: null, userErrors: strange }
    let product = this.findProduct(identifier)
    const other = this.findProduct({ handle: values.handle ?? "" })
    if (other !== null && other !== product)
      return { product: null, ...complaint(["input", "handle"], "Handle already in use.", "HANDLE_NOT_UNIQUE") }
    if (product === null) {
      const id = this.#id("Product")
      const handle = values.title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")
      product = {
        id,
        createdAt: new Date().toISOString(),
        values: { status: "ACTIVE", vendor: "", handle, productType: "", tags: [], descriptionHtml: "", seo: {} },
        optionList: [{ name: "Title", values: ["Default Title"] }],
        gallery: [],
        variantList: [],
        metafieldValues: identifier.customId == null ? [] : merged([], [{ ...identifier.customId, type: "id" }])
      }
      this.products.set(id, product)
      // "Whether new products are automatically published to this publication."
      this.#place(
        id,
        (this.sections.publications as Input)?.filter(({ autoPublish }: Input) => autoPublish)
      )
    }
    this.#change(product, "products", values)
    if (metafields !== undefined) product.metafieldValues = merged([], metafields)
    // "Any file specified here must also be specified in the `files` input for the product."
    const idBySource = new Map<unknown, string>()
    if (files !== undefined)
      product.gallery = files.map((file: Input) => {
        const known = this.files.get(file.id) ?? this.makeFile(file)
        if (file.alt != null) known.alt = file.alt
        idBySource.set(file.id ?? file.originalSource, known.id)
        return known.id
      })
    for (const variant of product.variantList)
      if (variant.pictureId !== null && !product.gallery.includes(variant.pictureId)) variant.pictureId = null
    if (productOptions !== undefined)
      product.optionList = productOptions.map(({ name, values }: Input) => ({
        name,
        values: values.map((value: Input) => value.name)
      }))
    if (variants !== undefined) {
      const before = product.variantList
      product.variantList = []
      for (const given of variants) {
        const known = before.find(({ id }) => id === given.id)
        const variant = known ?? this.makeVariant(product, given)
        if (known !== undefined) {
          this.#fillVariant(known, given)
          product.variantList.push(known)
        }
        if (given.file != null) {
          const pictureId = idBySource.get(given.file.id ?? given.file.originalSource)
          if (pictureId === undefined) throw new Error("the file of a variant is not among the files of the product")
          variant.pictureId = pictureId
        }
      }
    } else if (product.variantList.length === 0)
      this.makeVariant(product, { optionValues: [{ optionName: "Title", name: "Default Title" }] })
    return { product, userErrors: [] }
  }

  variantsBulkCreate({ productId, strategy, variants }: Input) {
    const product = this.products.get(productId)
    if (product === undefined)
      return { productVariants: null, ...complaint(["productId"], "Product does not exist", "PRODUCT_DOES_NOT_EXIST") }
    const refused = [
      ...variantErrors(variants),
      ...mediaIdErrors(product, this.files, variants),
      ...optionErrors(namesOf(product), variants, "INVALID_INPUT")
    ]
    if (refused.length > 0) return { productVariants: [], userErrors: refused }
    // Recorded from Shopify: without a strategy it deletes the only variant of a product that had no options.
    const [first, ...others] = product.variantList
    const isStandalone = others.length === 0 && first?.options.every(({ value }) => value === "Default Title") === true
    if (isStandalone && strategy !== "PRESERVE_STANDALONE_VARIANT") product.variantList = []
    const taken = takenErrors(product, variants)
    if (taken.length > 0) return { productVariants: [], userErrors: taken }
    const made = variants.map((input: Input) => this.makeVariant(product, input))
    addValues(product)
    return { productVariants: made, userErrors: [] }
  }

  variantsBulkUpdate({ productId, variants }: Input) {
    const product = this.products.get(productId)
    const refused = [
      ...variantErrors(variants),
      ...(product === undefined
        ? []
        : [
            ...linkedErrors(product, variants),
            ...optionErrors(namesOf(product), variants, "OPTION_DOES_NOT_EXIST"),
            ...takenErrors(product, variants)
          ])
    ]
    if (refused.length > 0) return { userErrors: refused }
    for (const input of variants) {
      const variant = product?.variantList.find(({ id }) => id === input.id)
      if (variant === undefined)
        return { ...complaint(["variants", "0", "id"], "Variant does not exist", "PRODUCT_VARIANT_DOES_NOT_EXIST") }
      this.#fillVariant(variant, input)
    }
    if (product !== undefined) addValues(product)
    return { userErrors: [] }
  }

  variantsReorder({ positions, productId }: Input) {
    const variants = this.products.get(productId)?.variantList ?? []
    for (const { id, position } of positions) {
      const place = variants.findIndex((variant) => variant.id === id)
      variants.splice(position - 1, 0, ...variants.splice(place, 1))
    }
    return { userErrors: [] }
  }

  metafieldsSet({ metafields }: Input) {
    if (metafields.length > 25)
      return { metafields: null, ...complaint(["metafields"], "Too many", "LESS_THAN_OR_EQUAL_TO") }
    // One refused metafield keeps all of the call back.
    const refused = metafieldErrors(metafields)
    if (refused.length > 0) return { metafields: [], userErrors: refused }
    for (const { ownerId, ...field } of metafields) {
      const owner = this.owners().find(({ id }) => id === ownerId)
      if (owner === undefined)
        return { metafields: null, ...complaint(["metafields", "0", "ownerId"], "Owner does not exist", "INVALID") }
      setMetafield(owner, field)
    }
    return { metafields: [], userErrors: [] }
  }

  metafieldsDelete({ metafields }: Input) {
    for (const { key, namespace, ownerId } of metafields) {
      const owner = this.owners().find(({ id }) => id === ownerId)
      if (owner !== undefined)
        owner.metafieldValues = owner.metafieldValues.filter(
          (field) => field.key !== key || field.namespace !== namespace
        )
    }
    return { deletedMetafields: [], userErrors: [] }
  }

  collectionCreate({ collection: input }: Input) {
    if (input.title === "")
      return { collection: null, userErrors: [{ field: ["title"], message: "Title can't be blank" }] }
    const { metafields = [], sources = [], ...values } = input
    const refused = metafieldErrors(metafields, ["collection"])
    if (refused.length > 0) return { collection: null, userErrors: refused }
    const collection: Collection = {
      id: this.#id("Collection"),
      values: {
        handle: values.title.toLowerCase(),
        descriptionHtml: "",
        sortOrder: "BEST_SELLING",
        seo: {},
        ...values
      },
      metafieldValues: merged([], metafields),
      sourceId: null,
      memberIds: [],
      conditionIds: [],
      orderedIds: []
    }
    this.collections.set(collection.id, collection)
    this.#addSources(collection, sources)
    return { collection, userErrors: [] }
  }

  #addSources(collection: Collection, sources: Input) {
    for (const { source } of sources) {
      collection.sourceId = `${collection.id}/source`
      collection.memberIds.push(...source.inclusion.selections.map(({ productId }: Input) => productId))
    }
  }

  collectionUpdate({ collection: input }: Input) {
    const { id, sourcesToCreate = [], sourcesToUpdate = [], ...values } = input
    const collection = this.collections.get(id)
    if (collection === undefined)
      return { collection: null, job: null, userErrors: [{ field: ["id"], message: "Collection does not exist" }] }
    this.#change(collection, "collections", values)
    this.#addSources(collection, sourcesToCreate)
    const change = () => {
      for (const { condition } of sourcesToUpdate) {
        const { selectionsToAdd, selectionsToRemove } = condition.inclusion
        const removed = selectionsToRemove.map(({ productId }: Input) => productId)
        collection.memberIds = collection.memberIds.filter((member) => !removed.includes(member))
        collection.memberIds.push(...selectionsToAdd.map(({ productId }: Input) => productId))
      }
    }
    if (this.jobLag > 0 && sourcesToUpdate.length > 0)
      return { collection, job: this.#startJob(id, change), userErrors: [] }
    change()
    return { collection, job: null, userErrors: [] }
  }

  /** Changes values. "If `true`, then the old handle is redirected to the new one automatically." */
  #change({ values }: Pick<Product, "values">, kind: string, { redirectNewHandle, ...changed }: Input) {
    const { handle } = values
    Object.assign(values, changed)
    // "A handle can contain letters, hyphens (`-`), and numbers, but no spaces."
    if (typeof changed.handle === "string") values.handle = changed.handle.toLowerCase().replaceAll(" ", "-")
    if (redirectNewHandle === true && values.handle !== handle)
      this.redirects.push({ path: `/${kind}/${handle}`, target: `/${kind}/${values.handle}` })
  }

  #place(id: string, publications: ReadonlyArray<Input> = []) {
    this.places.set(id, new Set([...(this.places.get(id) ?? []), ...publications.map((each) => each.id)]))
  }

  /** Repeating it changes nothing. */
  publishablePublish({ id, input }: Input) {
    const known = (this.sections.publications ?? []) as ReadonlyArray<Input>
    const unknown = input.findIndex(({ publicationId }: Input) => !known.some((each) => each.id === publicationId))
    if (unknown >= 0)
      return {
        userErrors: [
          {
            field: ["input", String(unknown), "publicationId"],
            message: "Publication does not exist or is not publishable"
          }
        ]
      }
    if (this.refusesPlaces)
      return {
        userErrors: [
          { field: ["id"], message: "Products sold only on subscription can only be published to online stores" }
        ]
      }
    this.#place(
      id,
      input.map(({ publicationId }: Input) => ({ id: publicationId }))
    )
    return { userErrors: [] }
  }

  #startJob(collectionId: string, change: () => void) {
    const id = this.#id("Job")
    this.#jobs.set(id, { collectionId, change, reads: 0 })
    return { id, done: false }
  }

  readJob({ id }: Input) {
    const job = this.#jobs.get(id)
    if (job === undefined) return { id, done: true }
    job.reads += 1
    if (job.reads <= this.jobLag) return { id, done: false }
    this.#jobs.delete(id)
    job.change()
    return { id, done: true }
  }

  /** As `collectionReorderProducts` is documented. */
  reorderMembers({ id, moves }: Input) {
    const refuse = (field: ReadonlyArray<string>, message: string, code: string) => ({
      job: null,
      ...complaint(field, message, code)
    })
    const collection = this.collections.get(id)
    if (collection === undefined) return refuse(["id"], "The collection was not found.", "COLLECTION_NOT_FOUND")
    if (collection.values.sortOrder !== "MANUAL")
      return refuse(["id"], "The collection is not manually sorted.", "MANUALLY_SORTED_COLLECTION")
    if ([...this.#jobs.values()].some(({ collectionId }) => collectionId === id))
      return refuse(["id"], "Products are currently being reordered.", "TOO_MANY_ATTEMPTS_TO_REORDER_PRODUCTS")
    const members = membersOf(collection)
    const strange = moves.findIndex((move: Input) => !members.includes(move.id))
    if (strange >= 0) return refuse(["moves", String(strange)], "The move is invalid.", "INVALID_MOVE")
    this.moves.push(moves)
    const job = this.#startJob(id, () => {
      const order = [...membersOf(collection)]
      for (const move of moves) {
        order.splice(order.indexOf(move.id), 1)
        // A position behind the last product is the end.
        order.splice(Number(move.newPosition), 0, move.id)
      }
      collection.orderedIds = order
    })
    return { job, userErrors: [] }
  }
}
