import { assert, describe, it } from "@effect/vitest"
import {
  GraphQLNonNull,
  type GraphQLSchema,
  isEnumType,
  isLeafType,
  Kind,
  NoDeprecatedCustomRule,
  parse,
  specifiedRules,
  TypeInfo,
  typeFromAST,
  validate,
  visit,
  visitWithTypeInfo
} from "graphql"
import { builtInRules } from "../../src/model/KeyRules.ts"
import * as Documents from "../../src/platform/shopify/Documents.ts"
import { adminSchema } from "./AdminSchema.ts"

const { apiVersion, ...documents } = Documents

/** As how many nodes Shopify counts a page of a list: 12 of 250 and of 200, 2 of one (recorded from its Admin API). */
const countedOf = (first: number) => Math.min(12, first + 1)

/** The cost of a document, at most, in points: one for each object, and ten for a mutation. */
const costOf = (schema: GraphQLSchema, text: string): number => {
  const types = new TypeInfo(schema)
  let cost = text.startsWith("mutation") ? 10 : 0
  /** As how many objects each one counts here. */
  const counts = [1]
  visit(
    parse(text),
    visitWithTypeInfo(types, {
      Field: {
        enter(node) {
          const count = counts.at(-1) ?? 1
          const type = types.getType()
          const name = String(type).replaceAll(/[[\]!]/g, "")
          const isPage = name.endsWith("Connection")
          if (!isPage && name !== "PageInfo" && !isLeafType(schema.getType(name))) cost += count
          const first = node.arguments?.find((argument) => argument.name.value === "first")?.value
          counts.push(isPage && first?.kind === Kind.INT ? count * countedOf(Number(first.value)) : count)
        },
        leave() {
          counts.pop()
        }
      }
    })
  )
  return cost
}

/** A variant's `media` would be a sixth connection of the query, and bulk operations allow five. */
const acceptedWarnings: Readonly<Record<string, ReadonlyArray<string>>> = {
  bulkProducts: ["The field ProductVariant.image is deprecated. Use `media` instead."]
}

describe.skipIf(adminSchema === undefined)("every document of the Shopify adapter", () => {
  it("is written for the API version whose introspection is pinned", () => assert.strictEqual(apiVersion, "2026-07"))

  for (const [name, text] of Object.entries(documents)) {
    it(`${name} is valid and complete, and uses nothing deprecated`, () => {
      if (adminSchema === undefined) return assert.fail("no schema")
      const document = parse(text)
      assert.deepStrictEqual(
        validate(adminSchema, document, [...specifiedRules, NoDeprecatedCustomRule]).map(({ message }) => message),
        acceptedWarnings[name] ?? []
      )
      assert.lengthOf(document.definitions, 1)
    })
  }

  it("declares variables of existing types, optional only for page positions", () => {
    if (adminSchema === undefined) return assert.fail("no schema")
    const schema = adminSchema
    const optional = new Set<string>()
    let declared = 0
    for (const text of Object.values(documents))
      visit(parse(text), {
        VariableDefinition(node) {
          declared += 1
          const type = typeFromAST(schema, node.type as never)
          assert.isDefined(type)
          if (!(type instanceof GraphQLNonNull)) optional.add(node.variable.name.value)
        }
      })
    assert.isAbove(declared, 20)
    assert.deepStrictEqual([...optional], ["after"])
  })

  it("keeps bulk operations within five connections", () => {
    const connections = Object.entries(documents)
      .filter(([name]) => /^bulk[A-Z]/.test(name) && name !== "bulkState")
      .map(([name, text]) => [name, text.split("edges {").length - 1])
    assert.deepStrictEqual(Object.fromEntries(connections), { bulkProducts: 5, bulkCollections: 3, bulkFiles: 1 })
  })

  it("stays below the points that one query may cost", () => {
    if (adminSchema === undefined) return assert.fail("no schema")
    const schema = adminSchema
    const costs = Object.entries(documents)
      .filter(([name]) => !/^bulk[A-Z]/.test(name) || name === "bulkState")
      .map(([name, text]) => [name, costOf(schema, text)] as const)
    assert.deepStrictEqual(
      costs.filter(([, cost]) => cost > 500),
      []
    )
    const page = "first: 250) { nodes {"
    const nested = `query { products(${page} variants(${page} metafields(${page} id } } } } } } }`
    assert.isAbove(costOf(schema, nested), 1_000)
  })

  it("a collection can have each of Shopify's sort orders, and no other", () => {
    const orders = adminSchema?.getType("CollectionSortOrder")
    assert.deepStrictEqual(
      isEnumType(orders) ? orders.getValues().map(({ name }) => name.toLowerCase().replaceAll("_", "-")) : [],
      [...(builtInRules.collection.get("sort_order")?.choices ?? [])]
    )
  })

  it("the check fails for invalid documents", () => {
    if (adminSchema === undefined) return assert.fail("no schema")
    assert.deepStrictEqual(
      validate(adminSchema, parse("query Bad($id: Int!) { product(id: $id) { titel } }")).map(({ message }) => message),
      [
        'Cannot query field "titel" on type "Product". Did you mean "title"?',
        'Variable "$id" of type "Int!" used in position expecting type "ID!".'
      ]
    )
  })
})
