import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { afterAll, beforeAll, vi } from "vitest"
import { Imports } from "../../src/imports/Imports.ts"
import { ImportsRepo } from "../../src/imports/ImportsRepo.ts"
import { ImportId } from "../../src/model/Ids.ts"
import { layerSpanLog } from "../../src/telemetry/SpanLog.ts"
import { actingAs } from "../../src/testing/index.ts"
import { type Answer, anEndlessBody, ask, PagesServer } from "../oauth/PagesServer.ts"
import { spanRecorder } from "../support/SpanRecorder.ts"
import {
  aMerchant,
  aReview,
  assertForeignForm,
  assertNotThere,
  assertRefusal,
  csrfOf,
  entityNamed,
  assertPage as openPage,
  textOf,
  untilPhase
} from "./Merchant.ts"
import { assertPage } from "./WholePage.ts"

const anExport = "Handle,Title,Variant SKU,Variant Price\npan,Pan,P-1,5.00\npot,Pot,P-2,6.00\n"

const toImports = ["/imports", "To the imports"] as const

/** A merchant on the page of imports, and the uploads that their browser sends. */
const atImports = Effect.gen(function* () {
  const merchant = yield* aMerchant
  const { actor, cookie, files } = merchant
  const csrf = csrfOf(yield* ask("/imports", { cookie }))
  const formOf = (
    file: { readonly name?: string; readonly content?: string | Uint8Array<ArrayBuffer> },
    fields: Readonly<Record<string, string>> = {}
  ) => {
    const form = new FormData()
    for (const [name, value] of Object.entries({ csrf, store_id: files.id, ...fields })) form.append(name, value)
    form.append("file", new File([file.content ?? anExport], file.name ?? "products.csv", { type: "text/csv" }))
    return form
  }
  const send = (...parts: Parameters<typeof formOf>) => ask("/imports", { cookie, form: formOf(...parts) })
  const runs = Effect.flatMap(Imports, ({ list }) => list).pipe(actingAs(actor))
  return { ...merchant, merchant, csrf, formOf, send, runs }
})

/** The import to whose page an answer redirects. */
const begun = (answer: Answer) => {
  assert.strictEqual(answer.status, 303, answer.text)
  const [, id = assert.fail(String(answer.headers.get("location")))] =
    /^\/import\?id=([\da-f-]{36})$/.exec(answer.headers.get("location") ?? "") ?? []
  return ImportId.make(id)
}

/** The form is shown again: the problem at its field, which has the focus, and the chosen store. */
const assertAtField = (answer: Answer, field: "file" | "store_id", message: string, chosen?: string) => {
  assertPage(answer, 400)
  const [control = ""] = new RegExp(`<(?:input|select)[^>]* name="${field}"[^>]*>`).exec(answer.text) ?? []
  for (const part of ['aria-invalid="true"', "autofocus", `aria-describedby="${field}-misfit"`])
    assert.include(control, part)
  assert.include(answer.text, `<p class="wrong" id="${field}-misfit" role="alert">${message}</p>`)
  if (chosen !== undefined) assert.include(answer.text, `<option value="${chosen}" selected>`)
}

// The folder of temporary files: an import keeps its upload here while it reads it.
const folder = mkdtempSync(join(tmpdir(), "uploads-"))
beforeAll(() => {
  vi.stubEnv("TMPDIR", folder)
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true })
})
/** The service keeps pictures in another folder there. */
const kept = () => readdirSync(folder).filter((name) => !name.startsWith("catalog-pictures-"))

layer(PagesServer, { excludeTestServices: true })("an uploaded product export", (it) => {
  it.effect("is read, compared and reviewed, and leaves no file on the disk", () =>
    Effect.gen(function* () {
      const { actor, cookie, files, merchant, send, shop } = yield* atImports
      const page = yield* openPage("/imports", cookie)
      assert.include(page.text, `<option value="${files.id}">files.example</option>`)
      assert.include(page.text, `<option value="${shop.id}">Tarn &amp; Tern (${shop.domain})</option>`)
      assert.match(page.text, /<input type="file" name="file" accept="\.csv,\.tsv,\.txt,text\/csv" required/)
      const id = begun(yield* send({ name: "C:\\exports\\pans & <pots>\u0007.csv" }))
      yield* untilPhase(merchant, id, "reviewing")
      const text = textOf(yield* ask(`/import?id=${id}`, { cookie }))
      assert.include(text, "Import of pans &amp; &lt;pots>.csv into files.example Uploaded (done) Checked (done)")
      assert.include(text, "State Under review Store files.example")
      assert.include(text, "Products 2 0 0 Read: 2 variants and 0 images.")
      assert.deepStrictEqual(kept(), [])
      yield* Effect.flatMap(Imports, ({ accept }) => accept(id, () => Effect.void)).pipe(actingAs(actor))
      yield* entityNamed("product", "Pot").pipe(actingAs(actor))
    })
  )

  it.effect("the problem of an invalid file is shown with line and column", () =>
    Effect.gen(function* () {
      const { cookie, merchant, send } = yield* atImports
      const id = begun(yield* send({ content: "Handle,Title,Variant Price\npan,Pan,5.00\npot,Pot,five\n" }))
      const { error } = yield* untilPhase(merchant, id, "failed")
      assert.match(String(error), /^Line 3, column "Variant Price": "five/)
      assert.include(textOf(yield* ask(`/import?id=${id}`, { cookie })), `State Failed`)
      assert.deepStrictEqual(kept(), [])
      yield* untilPhase(merchant, begun(yield* send({})), "reviewing")
    })
  )

  it.effect("the problems of an invalid file are listed, at most 100", () =>
    Effect.gen(function* () {
      const { cookie, merchant, send } = yield* atImports
      const upload = (count: number) =>
        Effect.gen(function* () {
          const rows = Array.from({ length: count }, (_, index) => `p${index},<Pan>,five`)
          const id = begun(yield* send({ content: ["Handle,Title,Variant Price", ...rows].join("\n") }))
          yield* untilPhase(merchant, id, "failed")
          return textOf(yield* ask(`/import?id=${id}`, { cookie }))
        })
      const reason = "&quot;five&quot; is not a number of 0 or more, written like 12.50."
      const few = yield* upload(2)
      assert.include(few, "2 problems in the file Line Column Problem")
      for (const line of [2, 3]) assert.include(few, `${line} Variant Price ${reason}`)
      const many = yield* upload(1234)
      assert.include(many, "1,234 problems in the file")
      assert.include(many, `101 Variant Price ${reason} And 1,134 more.`)
    })
  )

  it.effect("is refused without a file, without a store, and while another import is read or under review", () =>
    Effect.gen(function* () {
      const { accountId, cookie, files, merchant, runs, send } = yield* atImports
      const before = yield* runs
      assertAtField(yield* send({ name: "", content: "" }), "file", "Choose a file that is not empty.", files.id)
      assertAtField(yield* send({}, { store_id: "" }), "store_id", "Choose the store that the file was exported from.")
      for (const absent of [(yield* aMerchant).files.id, "5a0c6b43-5a0f-4d3c-a5d6-2f4f0f5f2f10", "x"])
        assertNotThere(yield* send({}, { store_id: absent }))
      assert.deepStrictEqual(yield* runs, before)
      const held = ImportId.make("0b7c1c62-8a51-4c2b-9d0e-6f1f4a1f9b11")
      yield* (yield* ImportsRepo).create(accountId, {
        id: held,
        storeId: files.id,
        source: "csv",
        fileName: "pans.csv",
        actor: { kind: "cli", id: null, name: null }
      })
      assertAtField(
        yield* send({}),
        "file",
        "Not read: another file of files.example, pans.csv, is being read.",
        files.id
      )
      const id = yield* aReview(merchant)
      const locked = yield* send({})
      assertRefusal(locked, 423, {
        title: "An import is in progress",
        message:
          "An import has locked the catalog, which cannot be changed until the import has ended. Accept or discard the import, then try again.",
        next: toImports
      })
      const text = textOf(yield* ask("/imports", { cookie }))
      assert.include(text, "A file can be imported when Refresh of Tarn &amp; Tern is accepted or discarded.")
      assert.notInclude((yield* ask("/imports", { cookie })).text, 'type="file"')
      assert.sameMembers(
        (yield* runs).map((run) => run.id),
        [...before.map((run) => run.id), held, id]
      )
    })
  )

  it.effect("is refused if it is too large or not sent by a browser form", () =>
    Effect.gen(function* () {
      const { cookie, csrf, files, formOf, runs, send } = yield* atImports
      const before = yield* runs
      const large = new Uint8Array(15 * 1_048_576)
      assertRefusal(yield* send({ content: large }), 413, {
        title: "The file is too large",
        message: "Files can have up to 15 MB. Split the file, or ask the administrator to import it.",
        next: toImports
      })
      assertRefusal(yield* ask("/imports", { cookie, form: { csrf, store_id: files.id } }), 415, {
        title: "Not accepted",
        message: "This page accepts only forms.",
        next: ["/", "To the start page"]
      })
      const broken = { "content-type": "multipart/form-data; boundary=x" }
      for (const body of ["", "--x", '--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\nabc'])
        assertRefusal(yield* ask("/imports", { cookie, body, method: "POST", headers: broken }), 400, {
          title: "Not understood",
          message: "The upload was incomplete, so nothing was read. Send the file again.",
          next: toImports
        })
      const twice = formOf({})
      twice.append("store_id", files.id)
      assertRefusal(yield* ask("/imports", { cookie, form: twice }), 400, {
        title: "Not understood",
        message: "A field of the form occurs twice or has characters that cannot be stored.",
        next: ["/", "To the start page"]
      })
      assert.deepStrictEqual(yield* runs, before)
    })
  )

  it.scoped("is answered while uploads of another account are still arriving", () =>
    Effect.gen(function* () {
      const slow = yield* atImports
      const { send } = yield* atImports
      const events: Array<string> = []
      for (const name of ["first", "second", "third"])
        yield* anEndlessBody("/imports", {
          headers: { cookie: slow.cookie, "content-type": "multipart/form-data; boundary=x" },
          body: "--x\r\n",
          onEnd: () => events.push(`${name} slow upload ended`)
        })
      // A page that is requested after them: by now the server reads their bodies.
      yield* openPage("/imports", slow.cookie)
      begun(yield* send({}))
      events.push("upload answered")
      assert.deepStrictEqual(events, ["upload answered"])
    })
  )

  it.effect("must have the CSRF token of its sender", () =>
    Effect.gen(function* () {
      const { cookie, formOf, runs } = yield* atImports
      const before = yield* runs
      const stranger = yield* atImports
      for (const csrf of ["", "x", stranger.csrf])
        assertForeignForm(yield* ask("/imports", { cookie, form: formOf({}, { csrf }) }))
      for (const headers of [{ origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
        assertForeignForm(yield* ask("/imports", { cookie, form: formOf({}), headers }))
      const away = yield* ask("/imports", { form: formOf({}) })
      assert.deepStrictEqual([away.status, away.headers.get("location")], [303, "/sign-in?return_to=%2F&unsent=form"])
      assert.deepStrictEqual(yield* runs, before)
    })
  )
})

const { logger, spans } = spanRecorder()
const traced = PagesServer.pipe(Layer.provide(layerSpanLog(100)), Layer.provide(Logger.add(logger)), Layer.fresh)

layer(traced, { excludeTestServices: true })("an upload with TRACE_PERCENT=100", (it) => {
  it.effect("has spans also for the work after its answer", () =>
    Effect.gen(function* () {
      const { actor, send } = yield* atImports
      yield* untilPhase({ actor }, begun(yield* send({})), "reviewing")
      assert.includeMembers(
        spans.map(({ name }) => name),
        ["POST /imports", "import reading", "import comparison"]
      )
    })
  )
})
