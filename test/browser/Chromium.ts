import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { Effect } from "effect"

const isThere = (path: string) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The path of the browser; undefined: it is not installed. */
export const program = [
  process.env.CHROMIUM,
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome"
].find((path): path is string => path !== undefined && isThere(path))

/** For `describe.skipIf(!chromiumIsThere)`. */
export const chromiumIsThere = program !== undefined

if (!chromiumIsThere)
  console.warn("No chromium (`apt-get install chromium-headless-shell`, or CHROMIUM): browser tests are left out.")

type Parameters = Readonly<Record<string, unknown>>

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: Parameters
  readonly result?: Parameters
  readonly error?: { readonly message: string }
}

/** The DevTools protocol on the pipes 3 and 4: JSON messages that end in U+0000. */
const protocolOf = (child: ChildProcess) => {
  const [, , , input, output] = child.stdio as unknown as [null, null, null, Writable, Readable]
  const waiting = new Map<number, (message: Message) => void>()
  const events: Array<Message> = []
  let rest = ""
  output.setEncoding("utf8").on("data", (text: string) => {
    const messages = (rest + text).split("\0")
    rest = messages.pop() ?? ""
    for (const message of messages.map((each) => JSON.parse(each) as Message)) {
      if (message.id === undefined) events.push(message)
      else waiting.get(message.id)?.(message)
    }
  })
  let sent = 0
  const send = (method: string, params: Parameters = {}, sessionId?: string) =>
    Effect.async<Parameters>((resume) => {
      sent += 1
      waiting.set(sent, ({ error, result = {} }) =>
        resume(error === undefined ? Effect.succeed(result) : Effect.dieMessage(`${method}: ${error.message}`))
      )
      input.write(`${JSON.stringify({ id: sent, method, params, ...(sessionId && { sessionId }) })}\0`)
    })
  return { events, send }
}

/** A browser that can reach 127.0.0.1 and no other host; closed with the scope. */
const chromium = Effect.acquireRelease(
  Effect.sync(() => {
    const profile = mkdtempSync(join(tmpdir(), "catalog-chromium-"))
    const child = spawn(
      program ?? "",
      [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking",
        "--remote-debugging-pipe",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--window-size=1400,1000",
        `--user-data-dir=${profile}`
      ],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] }
    )
    return { child, profile }
  }),
  ({ child, profile }) =>
    Effect.promise(async () => {
      const gone = once(child, "exit")
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGKILL")
        await gone
      }
      try {
        rmSync(profile, { recursive: true, force: true, maxRetries: 10 })
      } catch {
        // A helper process of Chromium may still write to this temporary folder: a failure to delete it is not a
        // failure of the test.
      }
    })
)

/** A page in a browser without a network, with its requests and errors. */
export const openPage = (url: string) =>
  Effect.gen(function* () {
    const { child } = yield* chromium
    const { events, send } = protocolOf(child)
    const { targetId } = yield* send("Target.createTarget", { url: "about:blank" })
    const { sessionId } = yield* send("Target.attachToTarget", { targetId, flatten: true })
    const ask = (method: string, params: Parameters = {}) => send(method, params, String(sessionId))
    for (const domain of ["Network", "Page", "Runtime", "Log"]) yield* ask(`${domain}.enable`)
    yield* ask("Page.navigate", { url })
    const paramsOf = (method: string) => events.filter((event) => event.method === method).map(({ params }) => params)
    return {
      /** Evaluates an expression in the page; the value must be JSON. */
      evaluate: (expression: string) =>
        Effect.map(
          ask("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true }),
          ({ result }) => (result as { readonly value?: unknown }).value
        ),
      /** URLs that the page requested, whether or not the requests succeeded. */
      requested: () =>
        paramsOf("Network.requestWillBeSent").map(
          (params) => (params as { readonly request: { readonly url: string } }).request.url
        ),
      /** Problems that the browser reported: blocked by the policy, failed requests, exceptions. */
      complaints: () => [
        ...paramsOf("Log.entryAdded").map(
          (params) => (params as { readonly entry: { readonly text: string } }).entry.text
        ),
        ...paramsOf("Runtime.exceptionThrown").map((params) => JSON.stringify(params))
      ],
      screenshot: Effect.map(ask("Page.captureScreenshot", { format: "png" }), ({ data }) =>
        Buffer.from(String(data), "base64")
      )
    }
  })
