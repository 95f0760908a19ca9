import type { HttpApi } from "@effect/platform"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"
import { routesOf } from "../../src/http/RouteTable.ts"
import { anAccount } from "../../src/testing/index.ts"
import { document } from "./Documented.ts"
import { type Answer, ask, assertHeaders, assertRefusal, MemoryServer, misfit } from "./Exchange.ts"
import { bodyOf, jsonType, queryOf, unused } from "./Fixtures.ts"

const routes = routesOf(RestApi as unknown as HttpApi.HttpApi.Any)

/** Words of schema libraries and of TypeScript, which a message must not contain. */
const schemaWords = [
  ...Object.keys(document.components.schemas),
  "EntityId",
  "StoreId",
  "Expected",
  "actual",
  "readonly",
  "ReadonlyArray",
  "string",
  "boolean",
  "undefined",
  "unknown",
  "null",
  "never",
  "Schema",
  "Lowercase",
  "minLength",
  "filter",
  "transform"
]
const speaksOfSchemas = new RegExp(`\\b(?:${schemaWords.join("|")})\\b|[{}<>|]`)

const wrongs: ReadonlyArray<unknown> = [1, 1.5, "x", "", true, [], [1], {}, { a: 1 }]

type Path = ReadonlyArray<string | number>

/** Every position in a value, beginning with the whole value. */
const placesOf = (value: unknown, path: Path = []): ReadonlyArray<Path> => [
  path,
  ...(Array.isArray(value)
    ? value.flatMap((item, index) => placesOf(item, [...path, index]))
    : typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([name, member]) => placesOf(member, [...path, name]))
      : [])
]

const replaced = (value: unknown, [step, ...rest]: Path, by: unknown): unknown => {
  if (step === undefined) return by
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? replaced(item, rest, by) : item))
  const object = value as Record<string, unknown>
  return { ...object, [step]: replaced(object[step], rest, by) }
}

/** Every member that a body can have. */
const wholeBody: Readonly<Record<string, unknown>> = {
  ...bodyOf,
  "/api/v1/data-health/scans": { dimension: "sync", store_id: unused },
  "/api/v1/data-health/divergence-reconciles": {
    entity_type: "product",
    operations: [{ entity_id: unused, field: "title", value: "x", winner_store_id: unused, store_id: unused }]
  }
}

/** Checks that a refusal names the position and the expected JSON value. */
const assertPlain = (answer: Answer, where: string) => {
  assert.strictEqual(answer.status, 400, `${where}: ${answer.text}`)
  assertHeaders(answer, ["content-type"])
  const { error } = JSON.parse(answer.text)
  assert.strictEqual(error.code, "validation_failed")
  assert.isAtLeast(error.details.length, 1, where)
  for (const { message, path } of error.details) {
    assert.notStrictEqual(path, "", where)
    assert.notMatch(message, speaksOfSchemas, where)
  }
}

layer(MemoryServer)("values of the wrong type", (it) => {
  const withBody = routes.filter(
    ({ misfits, scope, bodyLimitBytes }) => misfits && scope && bodyLimitBytes !== undefined
  )
  for (const { path } of withBody)
    it.effect(`in the body of ${path} are refused in plain words`, () =>
      Effect.gen(function* () {
        const valid = wholeBody[path]
        assert.isDefined(valid, "a body of which every member is tried")
        let refused = 0
        for (const place of placesOf(valid)) {
          // An account of its own, so that the budget is sufficient.
          const { token } = yield* anAccount()
          for (const wrong of wrongs) {
            const body = JSON.stringify(replaced(valid, place, wrong))
            const answer = yield* ask(path, { method: "POST", token, headers: jsonType, body })
            if (answer.status !== 400) continue
            assertPlain(answer, body)
            refused += 1
          }
        }
        assert.isAtLeast(refused, placesOf(valid).length * 3)
      })
    )

  const withParameters = routes.filter(({ bodyLimitBytes, misfits }) => misfits && bodyLimitBytes === undefined)
  for (const { path } of withParameters)
    it.effect(`in the parameters of ${path} are refused in plain words`, () =>
      Effect.gen(function* () {
        const { token } = yield* anAccount()
        const target = path.replace(":id", unused)
        const operation = document.paths[path.replace(/:(\w+)/g, "{$1}")]?.get
        const names = (operation?.parameters ?? []).flatMap((parameter) =>
          "in" in parameter && parameter.in === "query" ? [String(parameter.name)] : []
        )
        assert.isAtLeast(names.length, 1)
        for (const name of names)
          for (const wrong of ["%00", "x".repeat(300), `x&${name}=x`]) {
            const query = `${queryOf[path] ?? "?"}&${name}=${wrong}`
            const answer = yield* ask(`${target}${query}`, { token })
            if (answer.status === 400) assertPlain(answer, query)
            else assert.notInclude(query, `x&${name}`, "a parameter that is given twice is refused")
          }
      })
    )

  it.effect("with the complete error envelope", () =>
    Effect.gen(function* () {
      const { token } = yield* anAccount()
      const refusals: ReadonlyArray<readonly [path: string, body: unknown, place: string, message: string]> = [
        ["scans", [], "body", "expected an object"],
        ["scans", null, "body", "expected an object"],
        ["completeness-fills", { entity_type: "product", operations: 1 }, "operations", "expected a list (an array)"],
        ["completeness-fills", { entity_type: "product", operations: [1] }, "operations.0", "expected an object"],
        [
          "completeness-fills",
          { entity_type: "product", operations: [{ entity_id: unused, store_id: unused, field: "title", value: 1 }] },
          "operations.0.value",
          "expected text"
        ]
      ]
      for (const [path, body, place, message] of refusals)
        assertRefusal(
          yield* ask(`/api/v1/data-health/${path}`, {
            method: "POST",
            token,
            headers: jsonType,
            body: JSON.stringify(body)
          }),
          misfit(place, message)
        )
    })
  )
})
