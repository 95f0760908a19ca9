import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { ConfigProvider, Console, Effect } from "effect"
import { runCli } from "../../src/cli/Cli.ts"
import { embeddedFlags } from "./EmbeddedFlags.ts"
import { schemaImage } from "./SchemaImages.ts"

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url))

/** The names of the service's settings. Settings of the machine that runs the tests must not affect them. */
const settings = [
  "HOST",
  "PORT",
  "BASE_URL",
  "ALLOWED_ORIGINS",
  "DATA_DIR",
  "DATA_VOLUME",
  "DATABASE_URL",
  "DATABASE_READ_URL",
  "DATABASE_NODES",
  "DATABASE_POOLER",
  "REDIS_URL",
  "SECRET_KEY",
  "SECRET_KEY_PREVIOUS",
  "MAX_BODY_BYTES",
  "MAX_BODY_BYTES_PER_CREDENTIAL",
  "MAX_CONNECTIONS",
  "MAX_CONNECTIONS_PER_ADDRESS",
  "WRITE_STALL_SECONDS",
  "DRAIN_DELAY",
  "REGISTRATIONS_PER_HOUR",
  "OAUTH_CLIENT_METADATA_HOSTS",
  "PLATFORM_MODULES",
  "WEBHOOK_PRIVATE_HOSTS",
  "EVENT_STREAMS_PER_ACCOUNT",
  "EVENT_STREAMS_PER_SESSION",
  "SIGN_IN_FAILURES_PER_ADDRESS",
  "TRUST_PROXY",
  "HEALTH_SCANS",
  "HEALTH_SCAN_HOUR",
  "LOG_FORMAT",
  "ACCESS_LOG",
  "METRICS_PORT",
  "METRICS_HOST",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_HEADERS",
  "OTEL_SERVICE_NAME",
  "OTEL_TRACES_SAMPLER",
  "LOOKUP_TIMEOUT_MS",
  "READ_TIMEOUT_MS",
  "WRITE_TIMEOUT_MS",
  "REQUEST_TIMEOUT_MS",
  "npm_lifecycle_event",
  "NO_COLOR"
]

/** The environment of this process with these settings of the service and no others. */
export const environment = (given: Readonly<Record<string, string>>) => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !settings.includes(name))),
  ...given
})

/** The arguments of bash that runs a text. Without --norc bash reads its settings if no shell is above it: its input is a socket. */
export const bashArguments = (text: string): ReadonlyArray<string> => ["--norc", "-euo", "pipefail", "-c", text]

/** The command `catalog`, which is built before the tests. */
export const program = `${root}dist/main.js`

/**
 * Puts the embedded database with its schema into the data directory, which saves a first start half of its time. For suites that are
 * not about the first start: all such databases share the key that signs cursors.
 */
export const prepareDataDirectory = (path: string): void => {
  mkdirSync(`${path}/pgdata`, { recursive: true })
  execFileSync("tar", ["-xf", schemaImage, "-C", `${path}/pgdata`], { stdio: ["ignore", "ignore", "ignore"] })
}

const engineOptions = (env: Readonly<Record<string, string>>) => (env.DATA_DIR === undefined ? [] : embeddedFlags)

/** Starts `catalog` with these arguments as a process of its own. */
export const startCatalog = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>): ChildProcess =>
  spawn(process.execPath, [...engineOptions(env), program, ...args], {
    cwd: root,
    env: environment(env),
    stdio: ["ignore", "pipe", "pipe"]
  })

const collect = (child: ChildProcess) => {
  const output = { stdout: "", stderr: "" }
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    output.stdout += text
  })
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output.stderr += text
  })
  return output
}

/** Runs `catalog` as a process of its own until it exits. Returns its exit code and output. */
export const catalogProcess = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  const child = startCatalog(args, env)
  const output = collect(child)
  const [code] = (await once(child, "close")) as [number | null]
  return { code, ...output }
}

/** Runs `catalog` on a terminal, which `script` simulates. `answer`: types these keys when the output has this text. */
export const onTerminal = async (
  args: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>,
  answer?: { readonly at: string; readonly keys: string }
) => {
  const command = [process.execPath, program, ...args].join(" ")
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"], {
    cwd: root,
    env: environment(env),
    stdio: [answer === undefined ? "ignore" : "pipe", "pipe", "pipe"]
  })
  const output = collect(child)
  let isAnswered = false
  child.stdout?.on("data", () => {
    if (answer === undefined || isAnswered || !output.stdout.includes(answer.at)) return
    isAnswered = true
    child.stdin?.write(answer.keys)
  })
  const [code] = (await once(child, "close")) as [number | null]
  return { code, stdout: output.stdout }
}

/** The output of `catalog` on a terminal. */
export const onTerminalOf = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  (await onTerminal(args, env)).stdout

/** Runs `catalog` in this process, which saves the second that a new process takes to start. */
export const catalog = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const output = { stdout: "", stderr: "" }
    const code = yield* runCli(["node", "catalog", ...args]).pipe(
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))),
      Console.withConsole({
        ...(yield* Effect.console),
        log: (...words: ReadonlyArray<unknown>) =>
          Effect.sync(() => {
            output.stdout += `${words.join(" ")}\n`
          }),
        error: (...words: ReadonlyArray<unknown>) =>
          Effect.sync(() => {
            output.stderr += `${words.join(" ")}\n`
          })
      }),
      Effect.provide(NodeContext.layer)
    )
    return { code, ...output }
  })

/** A running `catalog serve` that has printed its address. */
export const serveCatalog = async (
  env: Readonly<Record<string, string>>,
  observe: (output: ReturnType<typeof collect>, child: ChildProcess) => void = () => {}
) => {
  const child = startCatalog(["serve"], { PORT: "0", DRAIN_DELAY: "0", ...env })
  const output = collect(child)
  observe(output, child)
  const ended = once(child, "close") as Promise<[number | null]>
  const greeting = new Promise<void>((resolve) => {
    const look = () => {
      if (/^(?:Try|API keys|First account): /m.test(output.stdout)) resolve()
    }
    child.stdout?.on("data", look)
  })
  await Promise.race([
    greeting,
    ended.then(([code]) => {
      throw new Error(`catalog serve ended with ${code}: ${output.stderr}`)
    })
  ])
  const baseUrl = /served at (\S+)/.exec(output.stdout)?.[1] ?? ""
  // Because stdout is not a terminal, the secrets of a first start are in a file.
  const [path] = /\S+first-start\.txt/.exec(output.stdout) ?? []
  const secrets = path === undefined ? "" : readFileSync(path, "utf8")
  return {
    baseUrl,
    key: /pk_live_[A-Za-z0-9]+/.exec(secrets)?.[0],
    secrets,
    pid: child.pid,
    output,
    ended,
    stop: async (signal: NodeJS.Signals = "SIGTERM") => {
      child.kill(signal)
      const [code] = await ended
      return code
    }
  }
}
