import { assert, describe, it } from "@effect/vitest"
import { GraphQLNonNull, NoDeprecatedCustomRule, parse, specifiedRules, typeFromAST, validate, visit } from "graphql"
import * as Documents from "../../src/platform/shopify/Documents.ts"
import { adminSchema } from "./AdminSchema.ts"

const { apiVersion, ...documents } = Documents

describe.skipIf(adminSchema === undefined)("every document of the Shopify adapter", () => {
  it("is written for the API version whose introspection is pinned", () => assert.strictEqual(apiVersion, "2026-07"))

  for (const [name, text] of Object.entries(documents)) {
    it(`${name} is valid and complete, and uses nothing deprecated`, () => {
      if (adminSchema === undefined) return assert.fail("no schema")
      const document = parse(text)
      assert.deepStrictEqual(
        validate(adminSchema, document, [...specifiedRules, NoDeprecatedCustomRule]).map(({ message }) => message),
        []
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
    assert.deepStrictEqual(connections, [
      ["bulkProducts", 5],
      ["bulkCollections", 3],
      ["bulkFiles", 1]
    ])
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
