import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Option, Redacted } from "effect"
import { readAppConfig } from "../../src/AppConfig.ts"
import { catalogProcess } from "../support/CommandLine.ts"

const read = (settings: Readonly<Record<string, string>>) =>
  Effect.withConfigProvider(readAppConfig, ConfigProvider.fromMap(new Map(Object.entries(settings))))

describe("settings", () => {
  it.effect("all have defaults", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read({}), {
        host: "127.0.0.1",
        port: 4080,
        baseUrl: Option.none(),
        allowedOrigins: [],
        dataDirectory: "data",
        dataVolume: "optional",
        databaseUrl: Option.none(),
        databaseReadUrl: Option.none(),
        pooler: "none",
        nodeAccess: "direct",
        redisUrl: Option.none(),
        secretKey: Option.none(),
        previousSecretKey: Option.none(),
        logFormat: "pretty",
        accessLog: "off",
        telemetry: { metricsPort: Option.none(), metricsHost: "127.0.0.1", otlp: Option.none(), tracePercent: 0 },
        budgets: { perKey: 120, perAccount: 240 },
        bounds: {
          bytes: 67_108_864,
          bytesPerCredential: 16_777_216,
          connections: 4_096,
          connectionsPerAddress: 256,
          writeStallMillis: 30_000
        },
        drainDelaySeconds: 0,
        deadlines: {
          lookUp: 2_000,
          read: 5_000,
          write: 8_000,
          replica: 2_000,
          background: 30_000,
          scan: 600_000,
          connection: 4_000,
          lock: 6_000,
          idleInTransaction: 10_000,
          idleInBackground: 30_000,
          node: 3_000,
          network: 10_000
        },
        poolSizes: { requests: 10, writes: 5, background: 4, replica: 10 },
        shares: { perAccount: 50, perCredential: 50, perNode: 65, queue: 256 },
        requestBounds: { usual: 10_000, batch: 60_000, scan: 660_000 },
        startPatience: Duration.seconds(60),
        lookUpPatience: Duration.seconds(60),
        registrationsPerHour: 100,
        clientMetadataHosts: [],
        platformModules: [],
        webhookPrivateHosts: [],
        eventBounds: { perAccount: 100, perSession: 8 },
        mail: Option.none(),
        signInFailuresPerAddress: 50,
        trustedProxies: 0,
        automaticScans: { nightly: true, afterImports: true, hour: 3 }
      })
    })
  )

  it.effect("reduce the public address to an origin", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        (yield* read({ BASE_URL: "https://PIM.example:443/" })).baseUrl,
        Option.some("https://pim.example")
      )
    })
  )

  it.effect("use the names of OpenTelemetry for what is exported", () =>
    Effect.gen(function* () {
      const endpoint = "http://127.0.0.1:4318"
      const { telemetry } = yield* read({
        OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
        OTEL_EXPORTER_OTLP_HEADERS: "Authorization=Bearer%20secret, x-tenant=a",
        OTEL_LOGS_EXPORTER: "none",
        OTEL_TRACES_SAMPLER_ARG: "0.5",
        METRICS_PORT: "0"
      })
      assert.deepStrictEqual(telemetry.metricsPort, Option.some(0))
      const otlp = Option.getOrThrow(telemetry.otlp)
      assert.deepStrictEqual(
        { ...otlp, headers: Redacted.value(otlp.headers) },
        {
          endpoint,
          headers: { authorization: "Bearer secret", "x-tenant": "a" },
          protocol: "http/protobuf",
          timeoutMillis: 10_000,
          signals: ["traces", "metrics"],
          serviceName: "catalog",
          sampler: "parentbased_traceidratio",
          samplerRatio: 0.5,
          metricIntervalMillis: 60_000
        }
      )
    })
  )

  it.effect("delay the end of listening with a database server, unless set", () =>
    Effect.gen(function* () {
      const DATABASE_URL = "postgres://localhost/catalog"
      assert.strictEqual((yield* read({ DATABASE_URL })).drainDelaySeconds, 5)
      assert.strictEqual((yield* read({ DATABASE_URL, DRAIN_DELAY: "0" })).drainDelaySeconds, 0)
      assert.strictEqual((yield* read({ DRAIN_DELAY: "7" })).drainDelaySeconds, 7)
    })
  )

  for (const [scans, nightly, afterImports] of [
    ["all", true, true],
    ["nightly", true, false],
    ["imports", false, true],
    ["off", false, false]
  ] as const)
    it.effect(`HEALTH_SCANS=${scans} chooses the scans that the service begins`, () =>
      Effect.gen(function* () {
        const { automaticScans } = yield* read({ HEALTH_SCANS: scans, HEALTH_SCAN_HOUR: "23" })
        assert.deepStrictEqual(automaticScans, { nightly, afterImports, hour: 23 })
      })
    )

  it.effect("accept several origins, with or without blanks between them", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        (yield* read({ ALLOWED_ORIGINS: "https://app.example.com, http://localhost:3000," })).allowedOrigins,
        ["https://app.example.com", "http://localhost:3000"]
      )
    })
  )

  it.effect("require a sender if a mail server is set", () =>
    Effect.gen(function* () {
      const SMTP_URL = "smtp://user:secret@mail.example:587"
      const refused = yield* Effect.flip(read({ SMTP_URL }))
      assert.strictEqual(refused.message, "MAIL_FROM: must be set, because SMTP_URL is set")
      const MAIL_FROM = "Catalog <catalog@example.com>"
      const mail = Option.getOrThrow((yield* read({ SMTP_URL, MAIL_FROM })).mail)
      assert.deepStrictEqual({ ...mail, url: Redacted.value(mail.url) }, { url: SMTP_URL, from: MAIL_FROM })
      assert.deepStrictEqual((yield* read({ MAIL_FROM })).mail, Option.none())
    })
  )

  for (const [name, value, rule] of [
    ["SMTP_URL", "https://mail.example", "must be an smtp:// or smtps:// address of a mail server"],
    ["SMTP_URL", "smtp://", "must be an smtp:// or smtps:// address of a mail server"],
    ["MAIL_FROM", "nobody", "must be an e-mail address, such as catalog@example.com or Catalog <catalog@example.com>"],
    ["PORT", "seventy", "must be a port number, 0 to 65535"],
    ["PORT", "70000", "must be a port number, 0 to 65535"],
    ["HOST", " ", "must not be empty"],
    ["DATA_DIR", "", "must not be empty"],
    ["BASE_URL", "pim.example", "must be an http or https address, without user, path, query or fragment"],
    ["BASE_URL", "ftp://pim.example", "must be an http or https address, without user, path, query or fragment"],
    ["BASE_URL", "https://pim.example/pim", "must be an http or https address, without user, path, query or fragment"],
    ["DATABASE_URL", "mysql://root@localhost/x", "must be a postgres:// address"],
    ["SECRET_KEY", "short", "must be 32 bytes in base64 or hexadecimal, for example from `openssl rand -base64 32`"],
    [
      "SECRET_KEY",
      "0".repeat(63),
      "must be 32 bytes in base64 or hexadecimal, for example from `openssl rand -base64 32`"
    ],
    [
      "SECRET_KEY_PREVIOUS",
      "short",
      "must be 32 bytes in base64 or hexadecimal, for example from `openssl rand -base64 32`"
    ],
    ["ALLOWED_ORIGINS", "*", "must be origins such as https://app.example.com, separated by commas"],
    [
      "ALLOWED_ORIGINS",
      "https://app.example.com,https://other.example/",
      "must be origins such as https://app.example.com, separated by commas"
    ],
    ["LOG_FORMAT", "xml", "must be one of pretty, json, logfmt"],
    ["ACCESS_LOG", "yes", "must be one of off, json"],
    ["METRICS_PORT", "65536", "must be a port number, 0 to 65535"],
    ["METRICS_HOST", " ", "must not be empty"],
    ["OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317", "must be an http:// or https:// address"],
    [
      "OTEL_EXPORTER_OTLP_HEADERS",
      "authorization",
      "must be headers such as authorization=Bearer%20token, separated by commas"
    ],
    ["OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "must be one of http/protobuf, http/json"],
    ["OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "must be a whole number of milliseconds, 100 to 999999999"],
    ["OTEL_METRIC_EXPORT_INTERVAL", "1", "must be a whole number of milliseconds, 100 to 999999999"],
    ["OTEL_TRACES_EXPORTER", "zipkin", "must be one of otlp, none"],
    ["OTEL_METRICS_EXPORTER", "prometheus", "must be one of otlp, none"],
    ["OTEL_LOGS_EXPORTER", "console", "must be one of otlp, none"],
    ["OTEL_SERVICE_NAME", " ", "must not be empty"],
    [
      "OTEL_TRACES_SAMPLER",
      "jaeger_remote",
      "must be one of always_on, always_off, traceidratio, parentbased_always_on, parentbased_always_off, parentbased_traceidratio"
    ],
    ["OTEL_TRACES_SAMPLER_ARG", "1.5", "must be a share of requests, 0 to 1"],
    ["TRACE_PERCENT", "101", "must be a whole percentage, 0 to 100"],
    ["READ_TIMEOUT_MS", "99", "must be a whole number of milliseconds, 100 to 999999999"],
    ["WRITE_CONNECTIONS", "0", "must be a number of connections, 1 to 1000"],
    ["CONNECTION_SHARE_PER_ACCOUNT", "101", "must be a whole percentage, 1 to 100"],
    ["CONNECTION_QUEUE_PER_ACCOUNT", "0", "must be a whole number of waiting statements, 1 to 999999999"],
    ["START_TIMEOUT_S", "-1", "must be a whole number of seconds, 0 to 999999"],
    ["RATE_LIMIT_PER_KEY", "0", "must be a whole number of requests, 1 to 999999999"],
    ["RATE_LIMIT_PER_ACCOUNT", "-5", "must be a whole number of requests, 1 to 999999999"],
    ["EVENT_STREAMS_PER_ACCOUNT", "0", "must be a whole number of streams, 1 to 999999999"],
    ["SIGN_IN_FAILURES_PER_ADDRESS", "0", "must be a whole number of failures, 1 to 999999999"],
    ["REGISTRATIONS_PER_HOUR", "0", "must be a whole number of registrations, 1 to 999999999"],
    ...["https://agent.example", "127.0.0.1", "agent.example:443", "a.example,[::1]", "a.example/x"].map(
      (value) =>
        [
          "OAUTH_CLIENT_METADATA_HOSTS",
          value,
          "must be names of hosts such as agent.example or agent.example:8443, separated by commas"
        ] as const
    ),
    ...["http://hooks.internal", "a.example/x", "a b"].map(
      (value) =>
        [
          "WEBHOOK_PRIVATE_HOSTS",
          value,
          "must be hosts such as hooks.internal or 10.0.0.7:8080, separated by commas"
        ] as const
    ),
    ["HEALTH_SCANS", "weekly", "must be one of all, nightly, imports, off"],
    ["HEALTH_SCAN_HOUR", "24", "must be an hour, 0 to 23"],
    ["TRUST_PROXY", "true", "must be a number of proxies, 0 to 10"],
    ["TRUST_PROXY", "11", "must be a number of proxies, 0 to 10"],
    ["MAX_BODY_BYTES", "1000", "must be a whole number of bytes, 5242880 to 999999999"],
    ["MAX_BODY_BYTES_PER_CREDENTIAL", "many", "must be a whole number of bytes, 5242880 to 999999999"],
    ["MAX_CONNECTIONS", "0", "must be a whole number of connections, 1 to 999999999"],
    ["MAX_CONNECTIONS_PER_ADDRESS", "-1", "must be a whole number of connections, 1 to 999999999"],
    ["WRITE_STALL_SECONDS", "0", "must be a whole number of seconds, 1 to 3600"],
    ["DRAIN_DELAY", "301", "must be a whole number of seconds, 0 to 300"]
  ] as const)
    it.effect(`${name}=${value} is refused by name`, () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* Effect.flip(read({ [name]: value }))).message, `${name}: ${rule}`)
      })
    )

  it("a refused secret is not printed", async () => {
    const ended = await catalogProcess(["serve"], { DATABASE_URL: "mysql://root:hunter2@localhost/x" })
    assert.deepStrictEqual(ended, { code: 1, stdout: "", stderr: "DATABASE_URL: must be a postgres:// address\n" })
  })

  const file = fileURLToPath(import.meta.url)
  for (const [DATA_DIR, reason] of [
    [file, "is not a directory, or one of its parents is not."],
    [`${file}/data`, "is not a directory, or one of its parents is not."],
    ["/proc/nowhere/data", "cannot be created: the parent directory is missing."]
  ] as const)
    it(`DATA_DIR=${DATA_DIR} is refused by name`, async () => {
      const ended = await catalogProcess(["account", "list"], { DATA_DIR })
      assert.deepStrictEqual(ended, { code: 1, stdout: "", stderr: `DATA_DIR: ${DATA_DIR} ${reason}\n` })
    })
})
