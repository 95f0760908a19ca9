import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, describe, layer } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { anAccount } from "../../src/testing/index.ts"
import { clientMetadata, consentIn } from "../oauth/ClientMemory.ts"
import { aClient, aUser } from "../oauth/PagesServer.ts"
import { freePort } from "../support/FreePort.ts"
import { hangLimit, orHangs } from "../support/HangLimit.ts"
import { aConnection, aConnectionTo, ample, baseUrlOf, connectorWith, type Era, portOf } from "./Connector.ts"
import { allToolNames } from "./ToolNames.ts"

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const folder = path("../../.conformance/")
const node = `${folder}node_modules/node/bin/node`
const suite = `${folder}node_modules/@modelcontextprotocol/conformance/dist/index.js`

const inspector = `${folder}node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js`

const isInstalled = existsSync(node) && existsSync(suite)
const hasInspector = existsSync(node) && existsSync(inspector)
if (!isInstalled || !hasInspector)
  console.warn(
    "NOT RUN: the protocol's conformance suite or its inspector is not installed; test/mcp/conformance/install.sh fetches both."
  )

/** The address that the suite connects to. The suite cannot send a token, so a proxy here adds it. */
const proxyPort = await freePort()
const base = `http://127.0.0.1:${proxyPort}`

const proxyTo = (port: number, token: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const child = spawn(
        process.execPath,
        [path("conformance/authProxy.mjs"), String(proxyPort), String(port), token],
        {
          stdio: ["ignore", "pipe", "inherit"]
        }
      )
      await once(child.stdout, "data")
      return child
    }),
    (child) =>
      Effect.promise(async () => {
        child.kill()
        await once(child, "exit")
      })
  )

/** Runs one of the suite's programs until it exits. */
const run = (args: ReadonlyArray<string>) =>
  Effect.async<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resume) => {
    execFile(
      node,
      args,
      // The inspector saves servers in its home directory; the tests use another one than the developer's.
      {
        cwd: folder,
        env: { ...process.env, HOME: folder },
        maxBuffer: 64_000_000,
        timeout: Duration.toMillis(hangLimit)
      },
      (error, stdout, stderr) =>
        resume(Effect.succeed({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }))
    )
  })

const judge = (url: string, requirements: string) =>
  run([
    suite,
    "server",
    "--url",
    url,
    "--requirements",
    requirements,
    "--expected-failures",
    path(`conformance/baseline-${requirements}.yml`)
  ])

/** The inspector's strict report on the tools. */
const inspect = (url: string, token: string, era: Era) =>
  run([
    inspector,
    "--cli",
    url,
    "--transport",
    "http",
    "--method",
    "tools/list",
    "--strict",
    "--protocol-era",
    era,
    "--header",
    `Authorization: Bearer ${token}`
  ])

/** Runs the suite as a client of the authorization server. The suite's callback listens on `port`. */
const judgeAuthorization = (url: string, clientId: string, port: number, specification: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(
        node,
        [
          suite,
          "authorization",
          "--url",
          url,
          "--client-id",
          clientId,
          "--resource",
          `${url}/mcp`,
          "--port",
          String(port),
          "--spec-version",
          specification
        ],
        { cwd: folder, stdio: ["ignore", "pipe", "inherit"] }
      )
      const judged = { output: "", ended: once(child, "close") as Promise<[number | null]>, child }
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        judged.output += text
      })
      return judged
    }),
    ({ child, ended }) =>
      Effect.promise(async () => {
        child.kill()
        await ended
      })
  )

/** The address that the suite prints for a person to open in a browser, once its callback listens. */
const addressAskedIn = (judged: { readonly output: string }) =>
  Effect.sync(() =>
    judged.output.includes("Callback server started") ? /^http\S+authorize\?\S+$/m.exec(judged.output)?.[0] : undefined
  ).pipe(
    Effect.delay("20 millis"),
    Effect.repeat({ until: (address) => address !== undefined }),
    orHangs(() => `The suite never asked for a consent: ${judged.output}`),
    Effect.map((address) => new URL(String(address)))
  )

describe.skipIf(!isInstalled)("the protocol's conformance suite", () => {
  layer(connectorWith({ ...ample, BASE_URL: base }), { excludeTestServices: true })((it) => {
    for (const requirements of ["2025-11-25", "2026-07-28"])
      it.scoped(`${requirements}: only requirements for tools that a catalog does not have fail`, () =>
        Effect.gen(function* () {
          const { accountId } = yield* anAccount()
          const { token } = yield* aConnectionTo(base, accountId, "pim:publish")
          yield* proxyTo(yield* portOf, token)
          const { code, stderr, stdout } = yield* judge(`${base}/mcp`, requirements)
          assert.strictEqual(code, 0, `${stdout}${stderr}`.slice(-8_000))
          assert.match(`${stdout}${stderr}`, /passed/i)
        })
      )
  })

  layer(connectorWith(ample), { excludeTestServices: true })((it) => {
    for (const specification of ["2025-11-25", "2026-07-28"])
      it.scoped(`${specification}: the authorization server's metadata and its code grant`, () =>
        Effect.gen(function* () {
          const url = yield* baseUrlOf
          const { cookie } = yield* aUser()
          const port = yield* Effect.promise(freePort)
          const clientId = yield* aClient({ ...clientMetadata, redirect_uris: [`http://127.0.0.1:${port}/callback`] })
          const judged = yield* judgeAuthorization(url, clientId, port, specification)
          const back = yield* consentIn(cookie, yield* addressAskedIn(judged))
          yield* Effect.promise(() => fetch(back))
          const [code] = yield* Effect.promise(() => judged.ended)
          assert.strictEqual(code, 0, judged.output)
          assert.match(judged.output, /^Total: 2 passed, 0 failed$/m)
        })
      )
  })
})

describe.skipIf(!hasInspector)("the protocol's inspector", () => {
  layer(connectorWith(ample), { excludeTestServices: true })((it) => {
    for (const era of ["modern", "legacy"] as const)
      it.effect(`${era}: finds no error and no warning in the tools' schemas`, () =>
        Effect.gen(function* () {
          const { accountId } = yield* anAccount()
          const { token } = yield* aConnection(accountId)
          const { code, stderr, stdout } = yield* inspect(`${yield* baseUrlOf}/mcp`, token, era)
          assert.strictEqual(code, 0, stderr)
          assert.lengthOf(JSON.parse(stdout).tools, allToolNames.length)
          // The inspector prints its findings on stderr.
          assert.strictEqual(stderr, "")
        })
      )
  })
})
