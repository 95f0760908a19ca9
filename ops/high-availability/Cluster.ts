import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chmodSync, chownSync, copyFileSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import pg from "pg"

const nodeCount = 3
const binaries = "/usr/lib/postgresql/15/bin"
const path = [process.env.PATH, "/usr/sbin", "/sbin"].join(delimiter)
const superuserPassword = "superuser-secret"
const servicePassword = "catalog-secret"
const changes = { username: "patroni", password: "patroni-secret" }

const works = (command: string, parameters: ReadonlyArray<string>) => {
  try {
    execFileSync(command, parameters, { env: { ...process.env, PATH: path }, stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Commands of Debian's packages that are not installed here; empty when the fail-over can be run. */
export const missingCommands = (): ReadonlyArray<string> =>
  Object.entries({
    patroni: ["--version"],
    haproxy: ["-v"],
    etcd: ["--version"],
    [`${binaries}/postgres`]: ["--version"]
  }).flatMap(([command, parameters]) => (works(command, parameters) ? [] : [command]))

/** How they are installed. */
export const installation =
  "apt-get install -y --no-install-recommends postgresql-15 patroni python3-etcd etcd-server haproxy"

/** PostgreSQL refuses to run as root: then everything runs as Debian's user postgres. */
const runAs = (): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const idOf = (option: string) => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }))
  return { uid: idOf("-u"), gid: idOf("-g") }
}

const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const servers = Array.from({ length: count }, () => createServer())
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, "127.0.0.1", () => {
            const address = server.address()
            resolve(typeof address === "object" && address !== null ? address.port : 0)
          })
        })
    )
  )
  for (const server of servers) server.close()
  return ports
}

/** Waits until a condition holds. Fails with the name of the condition. */
export const until = async (name: string, seconds: number, holds: () => Promise<boolean> | boolean) => {
  const end = performance.now() + seconds * 1_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${name}: not within ${seconds} s`)
    await sleep(100)
  }
}

/** Every process of this machine: its parent by its id. */
const parents = (): ReadonlyMap<number, number> =>
  new Map(
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, "utf8")
          // The name of a process, in brackets, may hold blanks.
          return [[Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])] as const]
        } catch {
          return []
        }
      })
  )

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8")
  } catch {
    return ""
  }
}

/** A process and all its descendants. */
const treeOf = (root: number): ReadonlyArray<number> => {
  const all = parents()
  const found = all.has(root) ? [root] : []
  for (let place = 0; place < found.length; place++)
    for (const [pid, parent] of all) if (parent === found[place]) found.push(pid)
  return found
}

const signalAll = (pids: ReadonlyArray<number>, signal: NodeJS.Signals) => {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It has ended.
    }
  }
}

export interface Member {
  readonly name: string
  readonly role: "leader" | "sync_standby" | "replica"
  readonly state: string
  readonly lag?: number | "unknown"
}

interface Place {
  readonly folder: string
  readonly etcdPort: number
  readonly identity: ReturnType<typeof runAs>
}

/** Starts a command in a process group of its own, so that Ctrl-C in the terminal does not end it before its turn. */
const start = (
  { folder, identity }: Place,
  name: string,
  command: string,
  parameters: ReadonlyArray<string>,
  env: Readonly<Record<string, string>>
): ChildProcess => {
  const log = openSync(join(folder, `${name}.log`), "a")
  const child = spawn(command, parameters, {
    ...identity,
    cwd: folder,
    detached: true,
    env: { PATH: path, HOME: folder, LANG: "C.UTF-8", ...env },
    stdio: ["ignore", log, log]
  })
  child.on("error", (error) => process.stderr.write(`${name}: ${error.message}\n`))
  return child
}

/** A database machine: PostgreSQL under its Patroni. */
export class DatabaseNode {
  readonly name: string
  readonly postgresPort: number
  readonly patroniPort: number
  private readonly place: Place
  private patroni: ChildProcess | undefined

  constructor(place: Place, name: string, postgresPort: number, patroniPort: number) {
    this.place = place
    this.name = name
    this.postgresPort = postgresPort
    this.patroniPort = patroniPort
  }

  private get dataDirectory() {
    return join(this.place.folder, this.name)
  }

  start(): void {
    const address = `127.0.0.1:${this.postgresPort}`
    const api = `127.0.0.1:${this.patroniPort}`
    this.patroni = start(this.place, this.name, "patroni", [join(this.place.folder, "patroni.yml")], {
      PATRONI_NAME: this.name,
      PATRONI_ETCD_HOSTS: `127.0.0.1:${this.place.etcdPort}`,
      PATRONI_POSTGRESQL_LISTEN: address,
      PATRONI_POSTGRESQL_CONNECT_ADDRESS: address,
      PATRONI_POSTGRESQL_DATA_DIR: this.dataDirectory,
      PATRONI_POSTGRESQL_PGPASS: `${this.dataDirectory}.pgpass`,
      PATRONI_SUPERUSER_PASSWORD: superuserPassword,
      PATRONI_REPLICATION_PASSWORD: "replication-secret",
      PATRONI_RESTAPI_LISTEN: api,
      PATRONI_RESTAPI_CONNECT_ADDRESS: api,
      PATRONI_RESTAPI_USERNAME: changes.username,
      PATRONI_RESTAPI_PASSWORD: changes.password
    })
  }

  get patroniProcesses(): ReadonlyArray<number> {
    return this.patroni?.pid === undefined ? [] : treeOf(this.patroni.pid)
  }

  get postgresProcesses(): ReadonlyArray<number> {
    try {
      const [pid] = readFileSync(join(this.dataDirectory, "postmaster.pid"), "utf8").split("\n")
      const tree = treeOf(Number(pid))
      // The file of a server that was killed names a process that may be another's by now.
      return commandOf(Number(pid)).includes(this.dataDirectory) ? tree : []
    } catch {
      return []
    }
  }

  /** Nothing reaches the replicas any more. */
  stopWalSenders(): void {
    const senders = this.postgresProcesses.filter((pid) => commandOf(pid).includes("walsender"))
    if (senders.length < nodeCount - 1) throw new Error("A replica has no process that sends to it")
    signalAll(senders, "SIGSTOP")
  }

  signalPatroni(signal: NodeJS.Signals): void {
    signalAll(this.patroniProcesses, signal)
  }

  /** Patroni first: it would start its server again. */
  signal(signal: NodeJS.Signals): void {
    const all = [...this.patroniProcesses, ...this.postgresProcesses]
    signalAll(all, signal)
  }

  /** Answers of Patroni's REST API; undefined: there was none. */
  async ask<Answer>(target: string, method = "GET", body?: unknown): Promise<Answer | undefined> {
    try {
      const answer = await fetch(`http://127.0.0.1:${this.patroniPort}/${target}`, {
        method,
        signal: AbortSignal.timeout(method === "GET" ? 2_000 : 60_000),
        ...(body !== undefined && { body: JSON.stringify(body) }),
        headers: { authorization: `Basic ${btoa(`${changes.username}:${changes.password}`)}` }
      })
      const text = await answer.text()
      if (!answer.ok) return undefined
      return (text.startsWith("{") ? JSON.parse(text) : text) as Answer
    } catch {
      return undefined
    }
  }
}

/** etcd, three database machines under Patroni, and HAProxy in front of them, all on this machine. */
export class Cluster {
  readonly folder: string
  readonly nodes: ReadonlyArray<DatabaseNode>
  private readonly others: ReadonlyArray<ChildProcess>
  private readonly listenPort: number

  private constructor(
    folder: string,
    nodes: ReadonlyArray<DatabaseNode>,
    others: ReadonlyArray<ChildProcess>,
    listenPort: number
  ) {
    this.folder = folder
    this.nodes = nodes
    this.others = others
    this.listenPort = listenPort
  }

  /** Starts everything. The caller closes what it is given also when the cluster is not ready yet. */
  static async open(): Promise<Cluster> {
    const identity = runAs()
    const folder = mkdtempSync(join(tmpdir(), "catalog-failover-"))
    chmodSync(folder, 0o755)
    if (identity.uid !== undefined && identity.gid !== undefined) chownSync(folder, identity.uid, identity.gid)
    for (const name of ["patroni.yml", "haproxy.cfg"])
      copyFileSync(fileURLToPath(new URL(name, import.meta.url)), join(folder, name))
    const [etcdPort = 0, peerPort = 0, listenPort = 0, ...rest] = await freePorts(3 + 2 * nodeCount)
    const place: Place = { folder, etcdPort, identity }
    const nodes = Array.from(
      { length: nodeCount },
      (_, at) => new DatabaseNode(place, `db${at + 1}`, rest[2 * at] ?? 0, rest[2 * at + 1] ?? 0)
    )
    const etcdUrl = `http://127.0.0.1:${etcdPort}`
    const peerUrl = `http://127.0.0.1:${peerPort}`
    const etcdOptions = {
      name: "etcd1",
      "data-dir": join(folder, "etcd"),
      "listen-client-urls": etcdUrl,
      "advertise-client-urls": etcdUrl,
      "listen-peer-urls": peerUrl,
      "initial-advertise-peer-urls": peerUrl,
      "initial-cluster": `etcd1=${peerUrl}`,
      "enable-v2": "true"
    }
    const etcd = start(
      place,
      "etcd",
      "etcd",
      Object.entries(etcdOptions).map(([name, value]) => `--${name}=${value}`),
      {}
    )
    const haproxy = start(place, "haproxy", "haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], {
      LISTEN: `127.0.0.1:${listenPort}`,
      ...Object.fromEntries(
        nodes.flatMap(({ name, patroniPort, postgresPort }) => [
          [name.toUpperCase(), `127.0.0.1:${postgresPort}`],
          [`${name.toUpperCase()}_PATRONI`, String(patroniPort)]
        ])
      )
    })
    for (const node of nodes) node.start()
    return new Cluster(folder, nodes, [etcd, haproxy], listenPort)
  }

  /** The database of the service, through HAProxy. */
  get databaseUrl(): string {
    return `postgres://catalog:${servicePassword}@127.0.0.1:${this.listenPort}/catalog`
  }

  /** Runs statements as the superuser, through HAProxy. */
  async administer(...statements: ReadonlyArray<string>): Promise<void> {
    const client = new pg.Client({
      connectionString: `postgres://postgres:${superuserPassword}@127.0.0.1:${this.listenPort}/postgres`,
      connectionTimeoutMillis: 5_000
    })
    client.on("error", () => {})
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  }

  async createDatabase(): Promise<void> {
    await until("HAProxy reaches the primary", 30, () =>
      this.administer("SELECT 1").then(
        () => true,
        () => false
      )
    )
    await this.administer(
      `CREATE ROLE catalog LOGIN PASSWORD '${servicePassword}'`,
      "CREATE DATABASE catalog OWNER catalog"
    )
  }

  async members(): Promise<ReadonlyArray<Member>> {
    for (const node of this.nodes) {
      const answer = await node.ask<{ readonly members: ReadonlyArray<Member> }>("cluster")
      if (answer !== undefined) return answer.members
    }
    return []
  }

  private async nodeOf(test: (member: Member) => boolean): Promise<DatabaseNode> {
    const member = (await this.members()).find(test)
    const node = this.nodes.find(({ name }) => name === member?.name)
    if (node === undefined) throw new Error(`no such member in ${JSON.stringify(await this.members())}`)
    return node
  }

  primary(): Promise<DatabaseNode> {
    return this.nodeOf(({ role }) => role === "leader")
  }

  /** The primary, once it is another one than before. */
  async primaryName(before: DatabaseNode): Promise<string | undefined> {
    const leader = (await this.members()).find(({ role, state }) => role === "leader" && state === "running")
    return leader?.name === before.name ? undefined : leader?.name
  }

  synchronousStandby(): Promise<DatabaseNode> {
    return this.nodeOf(({ role }) => role === "sync_standby")
  }

  /** One primary and two replicas that follow it, one of them synchronous where replication is. */
  async whole(seconds: number, isSynchronous: boolean): Promise<void> {
    await until("a primary and two replicas", seconds, async () => {
      const members = await this.members()
      const follows = ({ lag, role, state }: Member) =>
        role !== "leader" &&
        (state === "running" || state === "streaming") &&
        typeof lag === "number" &&
        lag < 1_000_000
      return (
        members.filter(({ role, state }) => role === "leader" && state === "running").length === 1 &&
        members.filter(follows).length === nodeCount - 1 &&
        members.some(({ role }) => role === "sync_standby") === isSynchronous
      )
    })
  }

  /** Changes settings that all members share, as `patronictl edit-config` does. */
  async configure(settings: Readonly<Record<string, unknown>>): Promise<void> {
    const answer = await (await this.primary()).ask("config", "PATCH", settings)
    if (answer === undefined) throw new Error("Patroni refused its new settings")
  }

  /** Ends every process and deletes the folder. */
  close(keep: boolean): void {
    for (const node of this.nodes) node.signal("SIGKILL")
    for (const { pid } of this.others) if (pid !== undefined) signalAll(treeOf(pid), "SIGKILL")
    // A server that Patroni was just starting has written its file by now.
    for (const node of this.nodes) node.signal("SIGKILL")
    if (keep) process.stderr.write(`Logs and data: ${this.folder}\n`)
    else rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}
