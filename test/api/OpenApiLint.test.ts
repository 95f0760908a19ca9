import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { OpenApi } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { RestApi } from "../../src/api/RestApi.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Spectral's output, whether or not it finds problems. */
const runSpectral = (args: ReadonlyArray<string>) =>
  Effect.async<string>((resume) => {
    execFile(
      join(root, "node_modules/.bin/spectral"),
      args,
      { cwd: root, maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout) => resume(Effect.succeed(stdout))
    )
  })

const written = (documents: ReadonlyArray<unknown>) =>
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "openapi-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ).pipe(
    Effect.map((folder) =>
      documents.map((document, index) => {
        const file = join(folder, `openapi-${index}.json`)
        writeFileSync(file, JSON.stringify(document, null, 2))
        return file
      })
    )
  )

/**
 * The rules that each document breaks, of every severity, with their positions. Starting the program once saves
 * seconds.
 */
const spectral = (documents: ReadonlyArray<unknown>) =>
  Effect.gen(function* () {
    const files = yield* written(documents)
    const printed = yield* runSpectral(["lint", "--quiet", "--ruleset", ".spectral.yaml", "--format", "json", ...files])
    const problems = JSON.parse(printed) as ReadonlyArray<{
      readonly code: string
      readonly path: ReadonlyArray<string>
      readonly source: string
    }>
    return files.map((file) =>
      problems.filter(({ source }) => source === file).map(({ code, path }) => `${code} ${path.join(" ")}`)
    )
  })

/** The parts of Redocly's library that are used here. Its command line would report each run to its vendor. */
const redoclyLibrary: string = "@redocly/openapi-core"
interface Redocly {
  readonly loadConfig: (options: { readonly configPath: string }) => Promise<unknown>
  readonly lintFromString: (given: { readonly source: string; readonly config: unknown }) => Promise<
    ReadonlyArray<{
      readonly ruleId: string
      readonly location: ReadonlyArray<{ readonly pointer?: string }>
    }>
  >
}

const redocly = (document: unknown) =>
  Effect.promise(async () => {
    const { lintFromString, loadConfig }: Redocly = await import(redoclyLibrary)
    const config = await loadConfig({ configPath: join(root, "redocly.yaml") })
    const problems = await lintFromString({ source: JSON.stringify(document), config })
    return problems.map(({ location, ruleId }) => `${ruleId} ${location[0]?.pointer}`)
  })

/** The document with an error. */
const faulty = () => {
  const document = structuredClone(OpenApi.fromApi(RestApi)) as unknown as {
    readonly paths: Record<string, Record<string, { description?: string; responses: Record<string, unknown> }>>
  }
  const ping = document.paths["/api/v1/ping"]?.get
  const deletions = document.paths["/api/v1/data-health/unused-deletions"]?.post
  if (ping === undefined || deletions === undefined) return assert.fail("the operations have moved")
  delete ping.description
  delete ping.responses["200"]
  delete ping.responses["304"]
  deletions.responses["418"] = {}
  return document
}

describe("the OpenAPI document and the linters", () => {
  it.scoped("spectral finds nothing but planted errors", () =>
    Effect.gen(function* () {
      const [found, planted] = yield* spectral([OpenApi.fromApi(RestApi), faulty()])
      assert.deepStrictEqual(found, [])
      assert.includeMembers(planted ?? [], [
        "operation-description paths /api/v1/ping get",
        "operation-success-response paths /api/v1/ping get responses",
        "oas3-schema paths /api/v1/data-health/unused-deletions post responses 418"
      ])
    })
  )

  it.effect("redocly finds nothing but planted errors", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* redocly(OpenApi.fromApi(RestApi)), [])
      assert.includeMembers(yield* redocly(faulty()), [
        "operation-description #/paths/~1api~1v1~1ping/get/description",
        "rule/operation-200-response #/paths/~1api~1v1~1ping/get/responses",
        "struct #/paths/~1api~1v1~1data-health~1unused-deletions/post/responses/418"
      ])
    })
  )
})
