import { Config, type ConfigError, Data, Effect, Option, Redacted } from "effect"
import type { BudgetSizes } from "./services/RateBudget.ts"

/** A setting that cannot be used. `message` is one line that names it. */
export class BadSetting extends Data.TaggedError("BadSetting")<{ readonly message: string }> {}

const logFormats = ["pretty", "json", "logfmt"] as const
export type LogFormat = (typeof logFormats)[number]

const isLogFormat = (text: string): text is LogFormat => logFormats.some((format) => format === text)

/** Every setting, from the environment. */
export interface AppConfig {
  /** HOST: address to listen on. Default 127.0.0.1. */
  readonly host: string
  /** PORT: TCP port to listen on; 0 is any free port. Default 4080. */
  readonly port: number
  /** BASE_URL: the public address, without a trailing slash. Default: the address that is listened on. */
  readonly baseUrl: Option.Option<string>
  /** DATA_DIR: where the embedded database lives. Default ./data. */
  readonly dataDirectory: string
  /** DATABASE_URL (secret): a PostgreSQL server (15 or newer) in stead of the embedded database. */
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  /** REDIS_URL (secret): a Redis server that keeps request budgets for all processes. Default: each keeps its own. */
  readonly redisUrl: Option.Option<Redacted.Redacted>
  /** SECRET_KEY (secret): 32 bytes in base64 that encrypt store credentials at rest. */
  readonly secretKey: Option.Option<Redacted.Redacted>
  /** LOG_FORMAT: pretty, json or logfmt; logs go to stderr. Default pretty. */
  readonly logFormat: LogFormat
  /** RATE_LIMIT_PER_KEY and RATE_LIMIT_PER_ACCOUNT: requests per minute. Defaults 120 and 240. */
  readonly budgets: BudgetSizes
}

const text = (name: string, fallback: string) =>
  Config.string(name).pipe(
    Config.validate({ message: "must not be empty", validation: (value) => value.trim() !== "" }),
    Config.withDefault(fallback)
  )

const wholeNumber = (name: string, fallback: number, message: string, validation: (value: number) => boolean) =>
  Config.string(name).pipe(
    Config.validate({ message, validation: (value) => /^\d{1,9}$/.test(value) && validation(Number(value)) }),
    Config.map(Number),
    Config.withDefault(fallback)
  )

const requests = (name: string, fallback: number) =>
  wholeNumber(name, fallback, "must be a whole number of requests, 1 to 999999999", (value) => value >= 1)

const isUrl = (schemes: ReadonlyArray<string>) => (value: string) =>
  URL.canParse(value) && schemes.includes(new URL(value).protocol)

/** user:password@host:port/number, of which a host is all that is needed. */
const isRedisUrl = (value: string) => {
  if (!isUrl(["redis:", "rediss:"])(value)) return false
  const { hostname, password, pathname, username } = new URL(value)
  const decoded = Option.all([username, password].map(Option.liftThrowable(decodeURIComponent)))
  return hostname !== "" && /^(?:\/\d{0,9})?$/.test(pathname) && Option.isSome(decoded)
}

const isBaseUrl = (value: string) => {
  if (!isUrl(["http:", "https:"])(value)) return false
  const { hash, password, search, username } = new URL(value)
  return hash + password + search + username === ""
}

const secret = (name: string, message: string, validation: (value: string) => boolean) =>
  Config.string(name).pipe(Config.validate({ message, validation }), Config.map(Redacted.make), Config.option)

const settings: Config.Config<AppConfig> = Config.all({
  host: text("HOST", "127.0.0.1"),
  port: wholeNumber("PORT", 4080, "must be a port number, 0 to 65535", (value) => value <= 65_535),
  baseUrl: Config.string("BASE_URL").pipe(
    Config.validate({
      message: "must be an http or https address, without user, query or fragment",
      validation: isBaseUrl
    }),
    Config.map((url) => url.replace(/\/$/, "")),
    Config.option
  ),
  dataDirectory: text("DATA_DIR", "data"),
  databaseUrl: secret("DATABASE_URL", "must be a postgres:// address", isUrl(["postgres:", "postgresql:"])),
  redisUrl: secret("REDIS_URL", "must be a redis:// or rediss:// address", isRedisUrl),
  secretKey: secret("SECRET_KEY", "must be 32 bytes in base64, for example from `openssl rand -base64 32`", (value) =>
    /^[A-Za-z0-9+/]{43}=$/.test(value)
  ),
  logFormat: Config.string("LOG_FORMAT").pipe(
    Config.validate({ message: `must be one of ${logFormats.join(", ")}`, validation: isLogFormat }),
    Config.withDefault("pretty" as const)
  ),
  budgets: Config.all({
    perKey: requests("RATE_LIMIT_PER_KEY", 120),
    perAccount: requests("RATE_LIMIT_PER_ACCOUNT", 240)
  })
})

/** The first complaint of a configuration error, on one line. */
const complaint = (error: ConfigError.ConfigError): string => {
  switch (error._op) {
    case "And":
    case "Or":
      return complaint(error.left)
    default:
      return `${error.path.join(".")}: ${error.message.replaceAll("\n", " ")}`
  }
}

/** Reads every setting before anything is opened; a bad one stops the start. */
export const readAppConfig: Effect.Effect<AppConfig, BadSetting> = Effect.mapError(
  settings,
  (error) => new BadSetting({ message: complaint(error) })
)
