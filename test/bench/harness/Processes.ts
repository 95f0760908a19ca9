import { type ChildProcess, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

/** The root of the repository. */
export const root = fileURLToPath(new URL("../../../", import.meta.url))

/** The environment of every measured process: the shell's, without its settings of the service. */
const { DATABASE_URL: _, DATA_DIR: __, REDIS_URL: ___, ...shell } = process.env
const environment = { ...shell, NODE_ENV: "production", NODE_OPTIONS: "", LOG_FORMAT: "json" }

/** Node's options as in `npm start`, also for the peers. */
const youngGeneration = "--max-semi-space-size=32"

/** Node's arguments for a TypeScript file of the benchmark. tsx costs time at the start only. */
export const script = (path: string): ReadonlyArray<string> => ["--import", "tsx", `test/bench/${path}`]

export interface Exited {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a command until it exits. `started` receives its process id. */
export const run = (
  command: string,
  parameters: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {},
  started: (pid: number | undefined) => void = () => {}
): Promise<Exited> =>
  new Promise((resolve, reject) => {
    const child = spawn(command, parameters, { cwd: root, env: { ...environment, ...env } })
    started(child.pid)
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text
    })
    child.once("error", reject).once("close", (code) => resolve({ code, stdout, stderr }))
  })

/** Runs a command. The result also has its duration and its peak memory. */
export const runMeasured = async (parameters: ReadonlyArray<string>, env: Readonly<Record<string, string>>) => {
  let megabytes = 0
  let look: NodeJS.Timeout | undefined
  const startedAt = performance.now()
  const exited = await run(process.execPath, parameters, env, (pid) => {
    look = setInterval(() => {
      megabytes = Math.max(megabytes, megabytesOf(pid, "VmHWM") || 0)
    }, 20)
  }).finally(() => clearInterval(look))
  return { ...exited, seconds: (performance.now() - startedAt) / 1_000, megabytes }
}

/** Runs a command that must succeed. Returns its stdout. */
export const mustRun = async (
  command: string,
  parameters: ReadonlyArray<string>,
  env: Readonly<Record<string, string>> = {}
): Promise<string> => {
  const { code, stderr, stdout } = await run(command, parameters, env)
  if (code === 0) return stdout
  throw new Error(`${[command, ...parameters].join(" ")} ended with ${code}:\n${stdout}${stderr}`)
}

/** Waits until a child has printed the addresses of its servers, and returns the first. */
const whenListening = (child: ChildProcess, servers: number): Promise<string> =>
  new Promise((resolve, reject) => {
    let output = ""
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      output += text
      const addresses = new Set(output.match(/https?:\/\/[\w.]+:\d+/g))
      const [first] = addresses
      if (first !== undefined && addresses.size >= servers) resolve(first)
    })
    child.once("error", reject).once("exit", (code) => {
      reject(new Error(`A server ended with ${code} before it listened:\n${output}`))
    })
  })

/** Processor time that a process has used so far, in milliseconds; NaN on systems other than Linux. */
export const cpuMillisOf = (pid: number | undefined): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // utime and stime are the 14th and 15th field, in ticks of 10 ms. The name before them may contain blanks.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return Number.NaN
  }
}

/**
 * Processor time of all threads of a process in microseconds, more precise than the 10 ms ticks of `stat`. Linux only.
 */
export const cpuMicrosOf = (pid: number | undefined): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]) / 1_000)
    .reduce((sum, micros) => sum + micros, 0)

/**
 * A line of /proc/PID/status in MB: VmRSS is the current resident memory, VmHWM its maximum so far. NaN if there is no
 * such line.
 */
export const megabytesOf = (pid: number | undefined, line: "VmRSS" | "VmHWM"): number => {
  try {
    const kilobytes = new RegExp(`^${line}:\\s+(\\d+) kB$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
    return kilobytes === undefined ? Number.NaN : Number(kilobytes) / 1_024
  } catch {
    return Number.NaN
  }
}

/** A server in a process of its own. */
export class ServerProcess {
  readonly url: string
  private readonly child: ChildProcess

  private constructor(child: ChildProcess, url: string) {
    this.child = child
    this.url = url
  }

  /**
   * Starts node with these arguments, which listens on any free port and prints its address. `stderr`: a file for its
   * log. `servers`: the number of servers in the process.
   */
  static async start(
    parameters: ReadonlyArray<string>,
    env: Readonly<Record<string, string>>,
    stderr: number | "inherit" = "inherit",
    servers = 1
  ): Promise<ServerProcess> {
    const child = spawn(process.execPath, parameters, {
      cwd: root,
      env: { ...environment, NODE_OPTIONS: youngGeneration, HOST: "127.0.0.1", PORT: "0", ...env },
      stdio: ["ignore", "pipe", stderr, "ipc"]
    })
    return new ServerProcess(child, await whenListening(child, servers))
  }

  /** Sends a message to the process, and waits for its answer. */
  async tell(message: boolean): Promise<void> {
    const answered = new Promise((resolve) => this.child.once("message", resolve))
    this.child.send(message)
    await answered
  }

  get pid(): number | undefined {
    return this.child.pid
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const ended = new Promise((resolve) => this.child.once("exit", resolve))
    this.child.kill("SIGTERM")
    await ended
  }
}
