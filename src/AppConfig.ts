import { isIP } from "node:net"
import { Config, ConfigError, Data, Duration, Effect, Either, Option, Redacted } from "effect"
import type { MailSettings } from "./access/Mailer.ts"
import type { BudgetSizes } from "./budgets/RateBudget.ts"
import {
  type Deadlines,
  defaultDeadlines,
  defaultPoolSizes,
  type NodeAccess,
  nodeAccesses,
  type Pooler,
  type PoolSizes,
  poolers
} from "./database/Deadlines.ts"
import { defaultShares, type Shares } from "./database/RateLimitSemaphores.ts"
import { defaultEventBounds, type EventBounds } from "./events/EventBounds.ts"
import type { AutomaticScanSettings } from "./health/AutomaticScans.ts"
import { listeningOn } from "./http/BaseUrl.ts"
import { type Bounds, defaultBounds } from "./http/Bounds.ts"
import { defaultRequestBounds, type RequestBounds } from "./http/RequestDeadlines.ts"
import { secretKeyBytes } from "./stores/SecretBox.ts"
import { type OtlpSettings, otlpProtocols, otlpSignals } from "./telemetry/OtlpSettings.ts"
import { samplerNames } from "./telemetry/Sampling.ts"
import type { TelemetrySettings } from "./telemetry/Telemetry.ts"

/** A setting that cannot be used. `message` is one line that names it. */
class BadSetting extends Data.TaggedError("BadSetting")<{ readonly message: string }> {}

const logFormats = ["pretty", "json", "logfmt"] as const
export type LogFormat = (typeof logFormats)[number]

const dataVolumes = ["optional", "required"] as const
export type DataVolume = (typeof dataVolumes)[number]

const accessLogs = ["off", "json"] as const

/** All settings. They come from environment variables. */
export interface AppConfig {
  /** HOST: address to listen on. Default 127.0.0.1. */
  readonly host: string
  /** PORT: TCP port to listen on; 0 is any free port. Default 4080. */
  readonly port: number
  /** BASE_URL: the public URL (an origin, no trailing slash): issuer of tokens and start of links. Default: the URL of HOST and PORT. */
  readonly baseUrl: Option.Option<string>
  /** ALLOWED_ORIGINS: origins of pages that may use the connector from a browser, comma-separated. Default: only its own. */
  readonly allowedOrigins: ReadonlyArray<string>
  /** DATA_DIR: directory of the embedded database. Default ./data. */
  readonly dataDirectory: string
  /** DATA_VOLUME: "required" refuses an embedded database whose files would be lost with the container. Default "optional". */
  readonly dataVolume: DataVolume
  /** DATABASE_URL (secret): a PostgreSQL server (15 or newer) instead of the embedded database. */
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  /** DATABASE_READ_URL (secret): a streaming replica of that server, which answers reads. Needs DATABASE_URL. Default: none. */
  readonly databaseReadUrl: Option.Option<Redacted.Redacted>
  /** DATABASE_POOLER: "transaction" if DATABASE_URL leads to a pooler that gives each transaction another connection. Default "none". */
  readonly pooler: Pooler
  /** DATABASE_NODES: "direct" if an account's node of a cluster runs its reads and draft writes without the coordinator (default). */
  readonly nodeAccess: NodeAccess
  /** REDIS_URL (secret): a Redis server for request budgets that all processes share. Default: each process has its own. */
  readonly redisUrl: Option.Option<Redacted.Redacted>
  /**
   * SECRET_KEY (secret): 32 bytes in base64 or hexadecimal that encrypt store credentials at rest. Default: with the embedded
   * database, DATA_DIR/secret.key, created when needed; with DATABASE_URL, no key, so that no credential can be stored.
   */
  readonly secretKey: Option.Option<Redacted.Redacted>
  /** SECRET_KEY_PREVIOUS (secret): the key before SECRET_KEY, until `secret rotate` has encrypted everything again. */
  readonly previousSecretKey: Option.Option<Redacted.Redacted>
  /** LOG_FORMAT: pretty, json or logfmt; logs go to stderr. Default pretty. */
  readonly logFormat: LogFormat
  /** ACCESS_LOG: json writes a line for each request to stderr. Default off. */
  readonly accessLog: (typeof accessLogs)[number]
  /**
   * METRICS_PORT, METRICS_HOST, TRACE_PERCENT and the OTEL_... settings (`OtlpSettings`): exports of metrics, traces and logs. Default: none.
   */
  readonly telemetry: TelemetrySettings
  /** RATE_LIMIT_PER_KEY and RATE_LIMIT_PER_ACCOUNT: requests per minute. Defaults 120 and 240. */
  readonly budgets: BudgetSizes
  /**
   * MAX_BODY_BYTES and MAX_BODY_BYTES_PER_CREDENTIAL: maximum bytes of request bodies in memory. Defaults 64 and 16 MiB.
   * MAX_CONNECTIONS and MAX_CONNECTIONS_PER_ADDRESS: maximum open connections. Defaults 4096 and 256; with TRUST_PROXY, the
   * second does not apply. WRITE_STALL_SECONDS: how long a client may leave an answer unread. Default 30.
   */
  readonly bounds: Bounds
  /** DRAIN_DELAY: seconds between SIGTERM and the end of listening. Default 0; with DATABASE_URL, 5. */
  readonly drainDelaySeconds: number
  /** LOOKUP_TIMEOUT_MS and the other time limits of database calls. Defaults: `defaultDeadlines`. */
  readonly deadlines: Deadlines
  /** REQUEST_CONNECTIONS, WRITE_CONNECTIONS, BACKGROUND_CONNECTIONS, REPLICA_CONNECTIONS: pool sizes. Defaults: `defaultPoolSizes`. */
  readonly poolSizes: PoolSizes
  /**
   * CONNECTION_SHARE_PER_ACCOUNT, ..._PER_KEY and ..._PER_NODE: maximum percent of a pool. CONNECTION_QUEUE_PER_ACCOUNT: maximum number of
   * waiting requests. Defaults: `defaultShares`.
   */
  readonly shares: Shares
  /** REQUEST_TIMEOUT_MS, BATCH_TIMEOUT_MS, SCAN_REQUEST_TIMEOUT_MS: time limits of requests. Defaults: `defaultRequestBounds`. */
  readonly requestBounds: RequestBounds
  /** START_TIMEOUT_S: how long a start waits for a PostgreSQL server that is starting itself. Default 60. */
  readonly startPatience: Duration.Duration
  /** LOOKUP_FAILURE_EXIT_S: the process exits if look-ups fail for this time while a new connection works. Default 60. */
  readonly lookUpPatience: Duration.Duration
  /** REGISTRATIONS_PER_HOUR: maximum OAuth clients that one IP address may register. Default 100. */
  readonly registrationsPerHour: number
  /**
   * OAUTH_CLIENT_METADATA_HOSTS: hosts whose client metadata documents are accepted instead of a registration, comma-separated,
   * each with its port if that is not 443. Default: none.
   */
  readonly clientMetadataHosts: ReadonlyArray<string>
  /**
   * WEBHOOK_PRIVATE_HOSTS: hosts that may receive webhooks at private addresses and over http, comma-separated, each with its port if
   * the address has one. Default: none.
   */
  readonly webhookPrivateHosts: ReadonlyArray<string>
  /** EVENT_STREAMS_PER_ACCOUNT and ..._PER_SESSION: maximum open pages that are updated live. Defaults: `defaultEventBounds`. */
  readonly eventBounds: EventBounds
  /** SMTP_URL (secret) and MAIL_FROM: the mail server for invitations and new passwords, and the sender. Default: no mail is sent. */
  readonly mail: Option.Option<MailSettings>
  /** SIGN_IN_FAILURES_PER_ADDRESS: maximum failed sign-ins from one IP address in 15 minutes. Default 50. */
  readonly signInFailuresPerAddress: number
  /** TRUST_PROXY: number of proxies in front of the service whose X-Forwarded-For is trusted, 0 to 10. Default 0. */
  readonly trustedProxies: number
  /** PLATFORM_MODULES: files of modules with adapters of further platforms, comma-separated. Default: none. */
  readonly platformModules: ReadonlyArray<string>
  /**
   * HEALTH_SCANS, HEALTH_SCAN_HOUR: the scans of data health that the service begins by itself. Default: all, at 3
   * o'clock UTC.
   */
  readonly automaticScans: AutomaticScanSettings
}

/** The URL at which the service listens by the settings HOST and PORT. */
export const listeningAt = ({ host, port }: AppConfig): string =>
  listeningOn({ _tag: "TcpAddress", hostname: host, port })

const text = (name: string, fallback: string) =>
  Config.string(name).pipe(
    Config.validate({ message: "must not be empty", validation: (value) => value.trim() !== "" }),
    Config.withDefault(fallback)
  )

const givenNumber = (name: string, message: string, validation: (value: number) => boolean) =>
  Config.string(name).pipe(
    Config.validate({ message, validation: (value) => /^\d{1,9}$/.test(value) && validation(Number(value)) }),
    Config.map(Number)
  )

const wholeNumber = (name: string, fallback: number, message: string, validation: (value: number) => boolean) =>
  Config.withDefault(givenNumber(name, message, validation), fallback)

const requests = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a whole number of requests, 1 to 999999999", (value) => value >= 1)

/** Minimum of the body limits: one tool call (4 MiB) must fit, together with the body of a REST request (1 MiB). */
const leastBodyBytes = 5 * 1_048_576

const bodyBytes = (name: string, fallback: number) =>
  wholeNumber(
    name,
    fallback,
    `must be a whole number of bytes, ${leastBodyBytes} to 999999999`,
    (value) => value >= leastBodyBytes
  )

const openConnections = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a whole number of connections, 1 to 999999999", (value) => value >= 1)

const streams = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a whole number of streams, 1 to 999999999", (value) => value >= 1)

/** The default is 5 s with DATABASE_URL, because a load balancer then needs time to notice that this process is not ready. */
const drainDelay = Config.all([
  Config.option(givenNumber("DRAIN_DELAY", "must be a whole number of seconds, 0 to 300", (value) => value <= 300)),
  Config.option(Config.string("DATABASE_URL"))
]).pipe(Config.map(([given, databaseUrl]) => Option.getOrElse(given, () => (Option.isSome(databaseUrl) ? 5 : 0))))

const millis = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a whole number of milliseconds, 100 to 999999999", (value) => value >= 100)

const seconds = (name: string, fallback: number) =>
  Config.map(
    wholeNumber(name, fallback, "must be a whole number of seconds, 0 to 999999", (value) => value <= 999_999),
    Duration.seconds
  )

const connections = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a number of connections, 1 to 1000", (value) => value >= 1 && value <= 1_000)

const percent = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a whole percentage, 1 to 100", (value) => value >= 1 && value <= 100)

/** One of a few words. */
const oneOf = <Word extends string>(name: string, words: ReadonlyArray<Word>, fallback: Word) =>
  Config.string(name).pipe(
    Config.validate({
      message: `must be one of ${words.join(", ")}`,
      validation: (value): value is Word => words.some((word) => word === value)
    }),
    Config.withDefault(fallback)
  )

const isUrl = (schemes: ReadonlyArray<string>) => (value: string) =>
  URL.canParse(value) && schemes.includes(new URL(value).protocol)

/** Whether a text is `user:password@host:port/number` with the scheme redis or rediss. Only the host is required. */
const isRedisUrl = (value: string) => {
  if (!isUrl(["redis:", "rediss:"])(value)) return false
  const { hostname, password, pathname, username } = new URL(value)
  const decoded = Option.all([username, password].map(Option.liftThrowable(decodeURIComponent)))
  return hostname !== "" && /^(?:\/\d{0,9})?$/.test(pathname) && Option.isSome(decoded)
}

const isSmtpUrl = (value: string) => isUrl(["smtp:", "smtps:"])(value) && new URL(value).hostname !== ""

/** An e-mail address, alone or as NAME <ADDRESS>. */
const senderPattern = /^(?:[^<>\r\n]{1,100}<[^\s@<>]{1,64}@[^\s@<>]{1,189}>|[^\s@<>]{1,64}@[^\s@<>]{1,189})$/

const isBaseUrl = (value: string) => {
  if (!isUrl(["http:", "https:"])(value)) return false
  const { hash, password, pathname, search, username } = new URL(value)
  return hash + password + search + username === "" && pathname === "/"
}

/** Whether a text is an origin (scheme, host, port), written as browsers send it. */
const isOrigin = (value: string) => isUrl(["http:", "https:"])(value) && new URL(value).origin === value

/** Whether a text is a host as `URL` writes it, with its port if that is not the usual one of http or https. */
const isHost = (value: string) =>
  ["http", "https"].some(
    (scheme) => URL.canParse(`${scheme}://${value}/`) && new URL(`${scheme}://${value}/`).host === value
  )

/** Whether a text is a host name as `URL` writes it, with its port if that is not 443. IP addresses are refused. */
const isHostName = (value: string) =>
  URL.canParse(`https://${value}/`) &&
  new URL(`https://${value}/`).host === value &&
  !value.startsWith("[") &&
  isIP(new URL(`https://${value}/`).hostname) === 0

const secret = (name: string, message: string, validation: (value: string) => boolean) =>
  Config.string(name).pipe(Config.validate({ message, validation }), Config.map(Redacted.make), Config.option)

const isPostgresUrl = isUrl(["postgres:", "postgresql:"])

const databaseReadUrl = Config.all([
  secret("DATABASE_READ_URL", "must be a postgres:// address", isPostgresUrl),
  Config.option(Config.string("DATABASE_URL"))
]).pipe(
  Config.mapOrFail(([readUrl, url]) =>
    Option.isSome(readUrl) && Option.isNone(url)
      ? Either.left(
          ConfigError.InvalidData(["DATABASE_READ_URL"], "needs DATABASE_URL, the server that it is a replica of")
        )
      : Either.right(readUrl)
  )
)

const encryptionKey = (name: string) =>
  secret(name, "must be 32 bytes in base64 or hexadecimal, for example from `openssl rand -base64 32`", (value) =>
    Option.isSome(secretKeyBytes(value))
  )

const listedIn = (list: string): ReadonlyArray<string> =>
  list
    .split(",")
    .map((one) => one.trim())
    .filter((one) => one !== "")

/** key=value pairs, whose values are percent-encoded, as OpenTelemetry writes them. */
const readHeaders = (list: string): Option.Option<Readonly<Record<string, string>>> =>
  Option.all(
    listedIn(list).map((pair) => {
      const [, name = "", value = ""] = /^([!#$%&'*+.^_`|~\w-]+)=(.*)$/.exec(pair) ?? []
      const decoded = Option.liftThrowable(decodeURIComponent)(value.trim())
      return Option.filter(decoded, (text) => name !== "" && /^[\t -~]*$/.test(text)).pipe(
        Option.map((text) => [name.toLowerCase(), text] as const)
      )
    })
  ).pipe(Option.map((pairs) => Object.fromEntries(pairs)))

/** Whether a signal is exported. */
const isExported = (name: string) =>
  Config.map(oneOf(name, ["otlp", "none"], "otlp"), (exporter) => exporter === "otlp")

const otlp: Config.Config<Option.Option<OtlpSettings>> = Config.all({
  endpoint: Config.option(
    Config.string("OTEL_EXPORTER_OTLP_ENDPOINT").pipe(
      Config.validate({ message: "must be an http:// or https:// address", validation: isUrl(["http:", "https:"]) })
    )
  ),
  headers: Config.string("OTEL_EXPORTER_OTLP_HEADERS").pipe(
    Config.validate({
      message: "must be headers such as authorization=Bearer%20token, separated by commas",
      validation: (list) => Option.isSome(readHeaders(list))
    }),
    Config.withDefault(""),
    Config.map((list) => Redacted.make(Option.getOrElse(readHeaders(list), () => ({}))))
  ),
  protocol: oneOf("OTEL_EXPORTER_OTLP_PROTOCOL", otlpProtocols, "http/protobuf"),
  timeoutMillis: millis("OTEL_EXPORTER_OTLP_TIMEOUT", 10_000),
  signals: Config.all([
    isExported("OTEL_TRACES_EXPORTER"),
    isExported("OTEL_METRICS_EXPORTER"),
    isExported("OTEL_LOGS_EXPORTER")
  ]).pipe(Config.map((exported) => otlpSignals.filter((_, place) => exported[place]))),
  serviceName: text("OTEL_SERVICE_NAME", "catalog"),
  sampler: oneOf("OTEL_TRACES_SAMPLER", samplerNames, "parentbased_traceidratio"),
  samplerRatio: Config.string("OTEL_TRACES_SAMPLER_ARG").pipe(
    Config.validate({
      message: "must be a share of requests, 0 to 1",
      validation: (value) => /^(?:0(?:\.\d{1,9})?|1(?:\.0+)?)$/.test(value)
    }),
    Config.withDefault("0.01"),
    Config.map(Number)
  ),
  metricIntervalMillis: millis("OTEL_METRIC_EXPORT_INTERVAL", 60_000)
}).pipe(Config.map(({ endpoint, ...others }) => Option.map(endpoint, (given) => ({ endpoint: given, ...others }))))

const settings: Config.Config<AppConfig> = Config.all({
  host: text("HOST", "127.0.0.1"),
  port: wholeNumber("PORT", 4080, "must be a port number, 0 to 65535", (value) => value <= 65_535),
  baseUrl: Config.string("BASE_URL").pipe(
    Config.validate({
      message: "must be an http or https address, without user, path, query or fragment",
      validation: isBaseUrl
    }),
    Config.map((url) => new URL(url).origin),
    Config.option
  ),
  allowedOrigins: Config.string("ALLOWED_ORIGINS").pipe(
    Config.validate({
      message: "must be origins such as https://app.example.com, separated by commas",
      validation: (list) => listedIn(list).every(isOrigin)
    }),
    Config.map(listedIn),
    Config.withDefault([])
  ),
  dataDirectory: text("DATA_DIR", "data"),
  dataVolume: oneOf("DATA_VOLUME", dataVolumes, "optional"),
  databaseUrl: secret("DATABASE_URL", "must be a postgres:// address", isPostgresUrl),
  databaseReadUrl,
  pooler: oneOf("DATABASE_POOLER", poolers, "none"),
  nodeAccess: oneOf("DATABASE_NODES", nodeAccesses, "direct"),
  redisUrl: secret("REDIS_URL", "must be a redis:// or rediss:// address", isRedisUrl),
  secretKey: encryptionKey("SECRET_KEY"),
  previousSecretKey: encryptionKey("SECRET_KEY_PREVIOUS"),
  logFormat: oneOf("LOG_FORMAT", logFormats, "pretty"),
  accessLog: oneOf("ACCESS_LOG", accessLogs, "off"),
  telemetry: Config.all({
    metricsPort: Config.option(
      givenNumber("METRICS_PORT", "must be a port number, 0 to 65535", (value) => value <= 65_535)
    ),
    metricsHost: text("METRICS_HOST", "127.0.0.1"),
    otlp,
    tracePercent: wholeNumber("TRACE_PERCENT", 0, "must be a whole percentage, 0 to 100", (value) => value <= 100)
  }),
  budgets: Config.all({
    perKey: requests("RATE_LIMIT_PER_KEY", 120),
    perAccount: requests("RATE_LIMIT_PER_ACCOUNT", 240)
  }),
  bounds: Config.all({
    bytes: bodyBytes("MAX_BODY_BYTES", defaultBounds.bytes),
    bytesPerCredential: bodyBytes("MAX_BODY_BYTES_PER_CREDENTIAL", defaultBounds.bytesPerCredential),
    connections: openConnections("MAX_CONNECTIONS", defaultBounds.connections),
    connectionsPerAddress: openConnections("MAX_CONNECTIONS_PER_ADDRESS", defaultBounds.connectionsPerAddress),
    writeStallMillis: wholeNumber(
      "WRITE_STALL_SECONDS",
      defaultBounds.writeStallMillis / 1_000,
      "must be a whole number of seconds, 1 to 3600",
      (value) => value >= 1 && value <= 3_600
    ).pipe(Config.map((value) => value * 1_000))
  }),
  drainDelaySeconds: drainDelay,
  deadlines: Config.all({
    lookUp: millis("LOOKUP_TIMEOUT_MS", defaultDeadlines.lookUp),
    read: millis("READ_TIMEOUT_MS", defaultDeadlines.read),
    write: millis("WRITE_TIMEOUT_MS", defaultDeadlines.write),
    replica: millis("REPLICA_TIMEOUT_MS", defaultDeadlines.replica),
    background: millis("BACKGROUND_TIMEOUT_MS", defaultDeadlines.background),
    scan: millis("SCAN_TIMEOUT_MS", defaultDeadlines.scan),
    connection: millis("CONNECTION_TIMEOUT_MS", defaultDeadlines.connection),
    lock: millis("LOCK_TIMEOUT_MS", defaultDeadlines.lock),
    idleInTransaction: millis("IDLE_TRANSACTION_TIMEOUT_MS", defaultDeadlines.idleInTransaction),
    idleInBackground: millis("BACKGROUND_IDLE_TRANSACTION_TIMEOUT_MS", defaultDeadlines.idleInBackground),
    node: millis("NODE_TIMEOUT_MS", defaultDeadlines.node),
    network: millis("NETWORK_TIMEOUT_MS", defaultDeadlines.network)
  }),
  poolSizes: Config.all({
    requests: connections("REQUEST_CONNECTIONS", defaultPoolSizes.requests),
    writes: connections("WRITE_CONNECTIONS", defaultPoolSizes.writes),
    background: connections("BACKGROUND_CONNECTIONS", defaultPoolSizes.background),
    replica: connections("REPLICA_CONNECTIONS", defaultPoolSizes.replica)
  }),
  shares: Config.all({
    perAccount: percent("CONNECTION_SHARE_PER_ACCOUNT", defaultShares.perAccount),
    perCredential: percent("CONNECTION_SHARE_PER_KEY", defaultShares.perCredential),
    perNode: percent("CONNECTION_SHARE_PER_NODE", defaultShares.perNode),
    queue: wholeNumber(
      "CONNECTION_QUEUE_PER_ACCOUNT",
      defaultShares.queue,
      "must be a whole number of waiting statements, 1 to 999999999",
      (value) => value >= 1
    )
  }),
  requestBounds: Config.all({
    usual: millis("REQUEST_TIMEOUT_MS", defaultRequestBounds.usual),
    batch: millis("BATCH_TIMEOUT_MS", defaultRequestBounds.batch),
    scan: millis("SCAN_REQUEST_TIMEOUT_MS", defaultRequestBounds.scan)
  }),
  startPatience: seconds("START_TIMEOUT_S", 60),
  lookUpPatience: seconds("LOOKUP_FAILURE_EXIT_S", 60),
  registrationsPerHour: wholeNumber(
    "REGISTRATIONS_PER_HOUR",
    100,
    "must be a whole number of registrations, 1 to 999999999",
    (value) => value >= 1
  ),
  platformModules: Config.map(Config.withDefault(Config.string("PLATFORM_MODULES"), ""), listedIn),
  clientMetadataHosts: Config.string("OAUTH_CLIENT_METADATA_HOSTS").pipe(
    Config.validate({
      message: "must be names of hosts such as agent.example or agent.example:8443, separated by commas",
      validation: (list) => listedIn(list).every(isHostName)
    }),
    Config.map(listedIn),
    Config.withDefault([])
  ),
  webhookPrivateHosts: Config.string("WEBHOOK_PRIVATE_HOSTS").pipe(
    Config.validate({
      message: "must be hosts such as hooks.internal or 10.0.0.7:8080, separated by commas",
      validation: (list) => listedIn(list).every(isHost)
    }),
    Config.map(listedIn),
    Config.withDefault([])
  ),
  eventBounds: Config.all({
    perAccount: streams("EVENT_STREAMS_PER_ACCOUNT", defaultEventBounds.perAccount),
    perSession: streams("EVENT_STREAMS_PER_SESSION", defaultEventBounds.perSession)
  }),
  mail: Config.all({
    url: secret("SMTP_URL", "must be an smtp:// or smtps:// address of a mail server", isSmtpUrl),
    from: Config.option(
      Config.string("MAIL_FROM").pipe(
        Config.validate({
          message: "must be an e-mail address, such as catalog@example.com or Catalog <catalog@example.com>",
          validation: (value) => senderPattern.test(value)
        })
      )
    )
  }).pipe(
    Config.mapOrFail(({ from, url }) =>
      Option.isSome(url) && Option.isNone(from)
        ? Either.left(ConfigError.InvalidData(["MAIL_FROM"], "must be set, because SMTP_URL is set"))
        : Either.right(Option.all({ url, from }))
    )
  ),
  signInFailuresPerAddress: wholeNumber(
    "SIGN_IN_FAILURES_PER_ADDRESS",
    50,
    "must be a whole number of failures, 1 to 999999999",
    (value) => value >= 1
  ),
  automaticScans: Config.all({
    scans: oneOf("HEALTH_SCANS", ["all", "nightly", "imports", "off"], "all"),
    hour: wholeNumber("HEALTH_SCAN_HOUR", 3, "must be an hour, 0 to 23", (value) => value <= 23)
  }).pipe(
    Config.map(({ hour, scans }) => ({
      nightly: scans === "all" || scans === "nightly",
      afterImports: scans === "all" || scans === "imports",
      hour
    }))
  ),
  trustedProxies: wholeNumber("TRUST_PROXY", 0, "must be a number of proxies, 0 to 10", (value) => value <= 10)
})

/** The first message of a configuration error, on one line. */
const describeConfigError = (error: ConfigError.ConfigError): string => {
  switch (error._op) {
    case "And":
    case "Or":
      return describeConfigError(error.left)
    default:
      return `${error.path.join(".")}: ${error.message.replaceAll("\n", " ")}`
  }
}

/** Reads all settings before anything is opened, so that a bad setting stops the start. */
export const readAppConfig: Effect.Effect<AppConfig, BadSetting> = Effect.mapError(
  settings,
  (error) => new BadSetting({ message: describeConfigError(error) })
)
