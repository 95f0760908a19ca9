import { Effect, Metric, MetricBoundaries, MetricKey, MetricLabel, Option } from "effect"

/** Maximum number of series of one metric. Further label values are counted together as `other`. */
const maxSeries = 2_000

/** One series of a metric. Adding to it looks up no labels. */
export interface Series {
  readonly add: (value: number) => void
}

const seriesOf = (key: MetricKey.MetricKey.Untyped): Series => {
  const metric = Metric.fromMetricKey(key)
  // Registers the series, so that it is exported before its first value. With an empty list, Effect does not look it up
  // again.
  metric.unsafeValue(noLabels)
  return { add: (value) => metric.unsafeUpdate(value, noLabels) }
}

const noLabels: ReadonlyArray<MetricLabel.MetricLabel> = []

type MetricType = "counter" | "gauge" | "histogram"

/** A metric and its series, found by the values of their labels. */
class LabelledMetric<Label extends string> {
  readonly type: MetricType
  private readonly series = new Map<string, Series>()
  private others: Series | undefined
  private readonly key: MetricKey.MetricKey.Untyped
  private readonly labels: ReadonlyArray<Label>

  constructor(type: MetricType, key: MetricKey.MetricKey.Untyped, labels: ReadonlyArray<Label>) {
    this.type = type
    this.key = key
    this.labels = labels
    if (labels.length === 0) this.of()
  }

  get name(): string {
    return this.key.name
  }

  get description(): string {
    return Option.getOrElse(this.key.description, () => "")
  }

  /** The series of these label values, in the order of the labels. */
  of(...values: ReadonlyArray<string>): Series {
    const id = values.join("\n")
    const existing = this.series.get(id)
    if (existing !== undefined) return existing
    if (this.series.size >= maxSeries) {
      this.others ??= this.make(this.labels.map(() => "other"))
      return this.others
    }
    const series = this.make(values)
    this.series.set(id, series)
    return series
  }

  private make(values: ReadonlyArray<string>): Series {
    const labels = this.labels.map((label, place) => MetricLabel.make(label, values[place] ?? ""))
    return seriesOf(MetricKey.taggedWithLabels(this.key, labels))
  }

  /** Makes series visible as 0 before their first value: an alert on a rate needs the value before the first increase. */
  preset(...values: ReadonlyArray<string>): this {
    for (const value of values) this.of(value)
    return this
  }
}

const counter = <Label extends string>(name: string, description: string, ...labels: ReadonlyArray<Label>) =>
  new LabelledMetric("counter", MetricKey.counter(name, { description, incremental: true }), labels)

const gauge = <Label extends string>(name: string, description: string, ...labels: ReadonlyArray<Label>) =>
  new LabelledMetric("gauge", MetricKey.gauge(name, { description }), labels)

const histogram = <Label extends string>(
  name: string,
  description: string,
  bounds: ReadonlyArray<number>,
  ...labels: ReadonlyArray<Label>
) =>
  new LabelledMetric("histogram", MetricKey.histogram(name, MetricBoundaries.fromIterable(bounds), description), labels)

/** Upper bounds of histograms in seconds: for requests and statements, and for publish attempts and scans. */
const fast = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const slow = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/**
 * Every metric of the service. Names follow Prometheus: base units, `_total` for counters. Labels have few values: routes are
 * patterns, and no label has an id, an account, an address or a text of a client.
 */
export const metrics = {
  requests: counter(
    "catalog_requests_total",
    "Requests that were answered or abandoned. Status 499: the client closed the connection before the answer was sent.",
    "surface",
    "route",
    "method",
    "status"
  ),
  requestSeconds: histogram(
    "catalog_request_duration_seconds",
    "Time from the head of a request to the last byte of its answer.",
    fast,
    "surface",
    "route"
  ),
  requestsInFlight: gauge("catalog_requests_in_flight", "Requests that are not answered yet."),
  connections: gauge("catalog_http_connections", "Open connections of clients."),
  toolCalls: counter(
    "catalog_tool_calls_total",
    "Calls of tools over MCP. The label code is ok, or the error code of the refusal.",
    "tool",
    "code"
  ),
  answerCache: counter("catalog_answer_cache_total", "Look-ups in the cache of answers.", "outcome").preset(
    "hit",
    "miss"
  ),
  refusals: counter(
    "catalog_refusals_total",
    "Requests that exceeded a limit. rate_key, rate_account, rate_messages: 429. late, bodies, connections: 503.",
    "reason"
  ).preset("rate_key", "rate_account", "rate_messages", "late", "bodies", "connections"),
  signInRefusals: counter("catalog_sign_in_refusals_total", "Refused sign-ins on the pages.", "reason").preset(
    "wrong",
    "code",
    "late",
    "delayed",
    "busy"
  ),
  credentialRefusals: counter(
    "catalog_credential_refusals_total",
    "Requests with an unknown, malformed, expired or revoked key or token.",
    "surface"
  ).preset("rest", "mcp"),
  redisFallbacks: counter(
    "catalog_redis_fallbacks_total",
    "Requests that this process counted in its own memory because Redis did not answer."
  ),

  databaseFailures: counter(
    "catalog_database_failures_total",
    "Statements that failed because the database could not serve them.",
    "reason"
  ).preset("connection", "deadline", "disk_full", "lock", "no_connection", "other", "queue_full", "statement_timeout"),
  statementSeconds: histogram(
    "catalog_database_statement_seconds",
    "Time of a statement, from sending it to its answer.",
    fast,
    "pool"
  ),
  connectionWaitSeconds: histogram(
    "catalog_database_wait_seconds",
    "Time that a statement or transaction waited for a database connection.",
    fast,
    "pool"
  ),
  replicaReads: counter(
    "catalog_replica_reads_total",
    "Reads that the read replica may answer. answered: it did. Otherwise the primary answered. behind: the replica lacks changes of the account. busy: no connection was free. refused: it answered with an error. unreachable, unanswered, not_standby: it then gets no reads for some seconds (resting).",
    "outcome"
  ).preset("answered", "behind", "busy", "not_standby", "refused", "resting", "unanswered", "unreachable"),
  nodeCalls: counter(
    "catalog_node_calls_total",
    "Reads and transactions that a node of a cluster may run without the coordinator. answered: it did. Otherwise the coordinator ran it. busy: no connection was free. refused: it answered with an error. unanswered: it then gets none for some seconds (resting).",
    "outcome"
  ).preset("answered", "busy", "refused", "resting", "unanswered"),
  nodes: gauge(
    "catalog_nodes",
    "Nodes of the cluster that hold rows, as the last check of this process saw them. down: the node does not answer. Both are 0 without a cluster.",
    "state"
  ).preset("answering", "down"),
  nodeAccounts: gauge("catalog_node_waiting_accounts", "Accounts whose node does not answer: their requests get 503."),
  poolMax: gauge(
    "catalog_database_pool_max",
    "Connections that the pool may open. In all gauges of pools, nodes-requests, nodes-writes and nodes-background are sums over the nodes of a cluster.",
    "pool"
  ),
  poolOpen: gauge("catalog_database_pool_open", "Open connections of the pool.", "pool"),
  poolInUse: gauge("catalog_database_pool_in_use", "Connections of the pool that are in use.", "pool"),
  poolIdle: gauge("catalog_database_pool_idle", "Open connections of the pool that are not in use.", "pool"),
  poolWaiting: gauge("catalog_database_pool_waiting", "Statements and transactions that wait for the pool.", "pool"),
  semaphoreWaiting: gauge(
    "catalog_database_semaphore_waiting",
    "Statements and transactions that wait because their account or credential uses its whole share of the pool.",
    "pool"
  ),
  semaphoreAccounts: gauge("catalog_database_semaphore_accounts", "Accounts that use or wait for the pool.", "pool"),

  publishAttempts: counter("catalog_publish_attempts_total", "Ended attempts to publish.", "outcome").preset(
    "published",
    "refused",
    "unavailable",
    "unknown",
    "interrupted"
  ),
  publishAttemptSeconds: histogram("catalog_publish_attempt_seconds", "Time of an attempt to publish.", slow),
  jobStepSeconds: histogram("catalog_job_step_seconds", "Time of a step of a job.", slow, "kind"),
  scansRunning: gauge("catalog_scans_running", "Scans of data health that run in this process."),
  scanSeconds: histogram("catalog_scan_seconds", "Time of a scan of data health.", slow, "dimension"),

  eventStreams: gauge("catalog_event_streams", "Open pages that this process tells about changes."),
  eventMessages: counter("catalog_event_messages_total", "Messages about changes that were sent to open pages."),
  eventStreamRefusals: counter(
    "catalog_event_stream_refusals_total",
    "Streams that were refused because the account or the session has too many.",
    "reason"
  ).preset("account", "session"),
  eventListening: gauge(
    "catalog_event_listening",
    "1: the database announces changes to this process. 0: the process polls for them, or no page is open."
  ),
  eventListenerLosses: counter(
    "catalog_event_listener_losses_total",
    "How often the connection that listens for changes was lost or could not be opened. Missed changes are then found by polling."
  ),

  webhookDeliveries: counter(
    "catalog_webhook_deliveries_total",
    "Attempts to deliver a webhook. blocked: not sent, because the host is unknown or private, the address is http and WEBHOOK_PRIVATE_HOSTS does not list its host, or the secret cannot be decrypted.",
    "result"
  ).preset("accepted", "refused", "unanswered", "blocked"),

  mailAttempts: counter(
    "catalog_mail_attempts_total",
    "Attempts to send a mail. sent: the mail server has it. unavailable: the server was not reached, or refused the mail for now. settings: it refused the sign-in of SMTP_URL. refused: it refused the mail for good.",
    "outcome"
  ).preset("sent", "unavailable", "settings", "refused"),

  backlogRead: gauge(
    "catalog_backlog_read",
    "1: the catalog_publishes, catalog_drops, catalog_imports, catalog_jobs and catalog_webhook metrics are current, without accounts whose node does not answer. 0: they could not be read in time and are old."
  ),
  publishes: gauge("catalog_publishes_pending", "Pending publishes of all accounts, by what they wait for.", "wait"),
  publishStores: gauge("catalog_publish_stores", "Stores with pending publishes, by what these wait for.", "wait"),
  publishAge: gauge(
    "catalog_publish_oldest_age_seconds",
    "Age of the oldest pending publish, by what it waits for: since its first attempt if it is running or waits for a retry, else since its request; 0 if there is none.",
    "wait"
  ),
  dropsDue: gauge("catalog_drops_due", "Drops whose start or end is due, by what they wait for.", "wait"),
  dropLateness: gauge(
    "catalog_drop_lateness_seconds",
    "Time since the oldest due start or end of a drop, by what it waits for; 0 if there is none.",
    "wait"
  ),
  imports: gauge("catalog_imports_open", "Imports that are not finished, by phase.", "phase"),
  importAge: gauge(
    "catalog_import_oldest_age_seconds",
    "Age of the oldest import that is not finished; 0 if there is none.",
    "phase"
  ),
  webhooks: gauge("catalog_webhooks", "Webhooks of all accounts, by state.", "state"),
  webhookChanges: gauge(
    "catalog_webhook_changes",
    "Changes that were not delivered. worker: not tried yet; receiver: not tried, because their webhook fails; waiting: failed, or waits for an earlier change of its entity; parked: failed for three days, or their webhook was stopped or is gone.",
    "wait"
  ),
  webhookAge: gauge(
    "catalog_webhook_oldest_age_seconds",
    "Age of the oldest change that was not delivered; 0 if there is none.",
    "wait"
  ),
  importsStalled: gauge("catalog_imports_stalled", "Imports that no process works on although one should."),
  jobs: gauge("catalog_jobs_open", "Jobs that have not ended, by what they wait for.", "wait"),
  jobLateness: gauge(
    "catalog_job_lateness_seconds",
    "Time since the oldest job that no process works on was due; 0 if there is none."
  ),

  exportFailures: counter("catalog_otlp_failures_total", "Exports by OTLP that failed or were dropped.", "signal"),
  eventLoopDelay: gauge(
    "catalog_event_loop_delay_seconds",
    "Delay of the event loop over the last 10 s: p50, p99, max.",
    "at"
  ),
  eventLoopUtilization: gauge(
    "catalog_event_loop_utilization_ratio",
    "Share of the last 10 s that the event loop was busy."
  ),
  heapUsed: gauge("catalog_heap_used_bytes", "Used JavaScript heap."),
  externalMemory: gauge("catalog_external_memory_bytes", "Memory of buffers outside the JavaScript heap."),
  residentMemory: gauge("process_resident_memory_bytes", "Resident memory."),
  cpuSeconds: counter("process_cpu_seconds_total", "Processor time, user and system."),
  startTime: gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.")
} as const

/** Adds the duration of `work` in seconds to a series, whether the work succeeds or fails. */
export const timed = <A, E, R>(seconds: Series, work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const began = performance.now()
    return Effect.ensuring(
      work,
      Effect.sync(() => seconds.add((performance.now() - began) / 1_000))
    )
  })

/**
 * Whether the metrics are exported. Measurements for every request or statement are made only then; rare events are
 * always counted.
 */
export const measuring = { isOn: false }

/** Callbacks that set gauges before each export, from values that other modules keep. */
const readings = new Set<() => void>()

/** Calls `read` before each export. Returns a function that stops it. */
export const readBeforeExport = (read: () => void): (() => void) => {
  readings.add(read)
  return () => readings.delete(read)
}

export const readGauges = (): void => {
  for (const read of readings) read()
}
