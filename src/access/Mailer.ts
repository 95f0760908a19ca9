import { Context, Data, Duration, Effect, FiberSet, Layer, Option, Redacted, Schedule } from "effect"
import { metrics } from "../telemetry/Metrics.ts"

/** How mail is sent: the URL of an SMTP server, and the sender's address. */
export interface MailSettings {
  readonly url: Redacted.Redacted
  readonly from: string
  /** The pauses before a mail that the server refused for now is sent again. */
  readonly pauses?: ReadonlyArray<Duration.Duration>
}

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** The language of the mail, as a BCP 47 tag. */
  readonly language: string
}

/**
 * The result of an attempt. `waiting`: the server refused the mail for now, and it is sent again. `refused`: it is not sent again.
 * `off`: no server is set. `reason`: a phrase, or the answer of the server.
 */
export type Delivery =
  | { readonly state: "sent" | "off" }
  | { readonly state: "waiting" | "refused"; readonly reason: string }

const stepMillis = 5_000
const patience = Duration.seconds(15)

const defaultPauses = [1, 5, 15, 60].map((minutes) => Duration.minutes(minutes))

/** How long a stored result `waiting` is true. The process that has the mail renews it, because the mail is lost when the process ends. */
export const waitingLasts = Duration.seconds(75)
const renewal = Duration.seconds(30)
/** Storing a result is tried again for ten minutes. */
const keepAgain = { schedule: Schedule.spaced(renewal), times: 20 }

/** Maximum number of mails that wait to be sent again, because they are held in memory. */
const maxWaiting = 1_000
/** Maximum number of mails that are sent again at the same time. */
const maxRepeated = 4

/** Maximum characters of a server's answer that are kept. */
const maxReason = 200

/** Codes of nodemailer for errors without an answer of the server, after which another attempt may succeed. */
const connectionErrors: ReadonlyArray<unknown> = ["ECONNECTION", "EDNS", "ESOCKET", "ETIMEDOUT"]

class MailRefused extends Data.TaggedError("MailRefused")<{
  readonly reason: string
  readonly isTemporary: boolean
  /** Whether SMTP_URL is wrong, so that the mail can be sent after a restart. */
  readonly isOfSettings?: boolean
  readonly cause?: unknown
}> {}

const outcomeOf = ({ isOfSettings = false, isTemporary }: MailRefused) =>
  isOfSettings ? "settings" : isTemporary ? "unavailable" : "refused"

/** Addresses of the operator's network stay in the log: administrators of accounts read only the answer of the mail server. */
const refusalOf = (error: unknown): MailRefused => {
  const { code, response, responseCode } = error as { code?: unknown; response?: unknown; responseCode?: unknown }
  const answered = typeof responseCode === "number" ? responseCode : undefined
  // 503: the session was in the wrong state, so the same mail may be accepted on a new connection.
  const isTemporary =
    answered === undefined ? connectionErrors.includes(code) : (answered >= 400 && answered < 500) || answered === 503
  if (code === "EAUTH")
    return new MailRefused({
      reason: "the mail server refuses the sign-in of this service",
      isTemporary,
      isOfSettings: true
    })
  const reason =
    answered !== undefined && typeof response === "string"
      ? response.replaceAll(/\s+/g, " ").slice(0, maxReason)
      : isTemporary
        ? "the mail server cannot be reached"
        : "the mail cannot be sent"
  return new MailRefused({ reason, isTemporary, cause: error })
}

const makeAttempt =
  ({ from, url }: MailSettings) =>
  ({ language, ...mail }: Mail, messageId: string) =>
    Effect.tryPromise({
      try: async () => {
        const { createTransport } = await import("nodemailer")
        const transport = createTransport({
          url: Redacted.value(url),
          connectionTimeout: stepMillis,
          greetingTimeout: stepMillis,
          socketTimeout: stepMillis
        })
        await transport.sendMail({ from, messageId, headers: { "Content-Language": language }, ...mail })
      },
      catch: refusalOf
    }).pipe(
      Effect.timeoutFail({
        duration: patience,
        onTimeout: () => new MailRefused({ reason: "the mail server did not answer in time", isTemporary: true })
      }),
      Effect.tap(() => Effect.sync(() => metrics.mailAttempts.of("sent").add(1))),
      Effect.tapError((refusal) => {
        metrics.mailAttempts.of(outcomeOf(refusal)).add(1)
        return Effect.logWarning(`A mail could not be sent by the server of SMTP_URL: ${refusal.reason}`, refusal.cause)
      })
    )

/** Sends mail by SMTP, if the settings name a server. */
export class Mailer extends Context.Tag("catalog/Mailer")<
  Mailer,
  {
    readonly isSet: boolean
    /**
     * Sends a mail, and returns the result of the first attempt after at most 15 s. If the server refuses it for now, or cannot be
     * reached, this process sends it again after 1, 5, 15 and 60 minutes. `keep` stores the result of each attempt. It runs again every
     * 30 s until the next attempt, and just before that. If it returns false, the mail is no longer wanted and is not sent again.
     */
    readonly send: (mail: Mail, keep: (delivery: Delivery) => Effect.Effect<boolean>) => Effect.Effect<Delivery>
    /** Makes one attempt, of at most 15 s. `id`: the same for all attempts of a mail. `waiting`: the caller may try again. */
    readonly sendOnce: (mail: Mail, id: string) => Effect.Effect<Delivery>
    /** The pauses before further attempts. */
    readonly pauses: ReadonlyArray<Duration.Duration>
  }
>() {
  static readonly layer = (settings: Option.Option<MailSettings>) =>
    Layer.scoped(
      Mailer,
      Option.match(settings, {
        onNone: () => {
          const off = () => Effect.succeed<Delivery>({ state: "off" })
          return Effect.succeed({ isSet: false, send: off, sendOnce: off, pauses: [] })
        },
        onSome: (given) => Effect.map(makeSends(given), (sends) => ({ isSet: true, ...sends }))
      })
    )
}

const makeSends = (settings: MailSettings) =>
  Effect.gen(function* () {
    const attempt = makeAttempt(settings)
    const { pauses = defaultPauses } = settings
    const waiting = yield* FiberSet.make<void>()
    const repeated = yield* Effect.makeSemaphore(maxRepeated)

    // The same for all attempts, so that a mail program shows a mail that arrived twice only once.
    const messageIdOf = (id: string) => `<${id}@${/@([^\s>]+)/.exec(settings.from)?.[1] ?? "catalog"}>`

    /** One attempt. `waits`: whether another one follows after a refusal. */
    const deliver = (mail: Mail, id: string, waits: (refusal: MailRefused) => boolean) =>
      Effect.match(attempt(mail, messageIdOf(id)), {
        onSuccess: (): Delivery => ({ state: "sent" }),
        onFailure: (refusal): Delivery => ({ state: waits(refusal) ? "waiting" : "refused", reason: refusal.reason })
      })

    /** The same while attempts are left, after these pauses. */
    const deliverNow = (mail: Mail, id: string, { length }: ReadonlyArray<Duration.Duration>) =>
      deliver(mail, id, ({ isTemporary }) => isTemporary && length > 0)

    const repeat = (
      mail: Mail,
      id: string,
      keep: (delivery: Delivery) => Effect.Effect<boolean>,
      last: Delivery,
      [pause, ...later]: ReadonlyArray<Duration.Duration>
    ): Effect.Effect<void> =>
      pause === undefined
        ? Effect.void
        : Effect.gen(function* () {
            // A database that cannot be reached for a while must not end the wait, or hide that the mail was sent.
            const keepLater = (delivery: Delivery) =>
              Effect.orDie(Effect.retry(Effect.sandbox(keep(delivery)), keepAgain))
            // Asks again, because the link may have been used, replaced or withdrawn during the pause.
            const next = Effect.whenEffect(deliverNow(mail, id, later), keepLater(last))
            const renew = Effect.uninterruptible(Effect.ignore(Effect.sandbox(keep(last))))
            const nextDelivery = yield* next.pipe(
              repeated.withPermits(1),
              Effect.delay(pause),
              Effect.raceFirst(Effect.forever(Effect.delay(renew, renewal)))
            )
            if (Option.isNone(nextDelivery)) return
            const isWanted = yield* keepLater(nextDelivery.value)
            if (nextDelivery.value.state === "waiting" && isWanted)
              yield* repeat(mail, id, keep, nextDelivery.value, later)
          })

    const send = Effect.fn("Mailer.send")(function* (mail: Mail, keep: (delivery: Delivery) => Effect.Effect<boolean>) {
      const id = crypto.randomUUID()
      const later = (yield* FiberSet.size(waiting)) < maxWaiting ? pauses : []
      const delivery = yield* deliverNow(mail, id, later)
      const isWanted = yield* keep(delivery)
      if (delivery.state === "waiting" && isWanted)
        yield* FiberSet.run(
          waiting,
          Effect.catchAllCause(repeat(mail, id, keep, delivery, later), (cause) =>
            Effect.logWarning("A mail could not be sent again", cause)
          )
        )
      return delivery
    })

    const sendOnce = (mail: Mail, id: string) =>
      deliver(mail, id, ({ isOfSettings = false, isTemporary }) => isTemporary || isOfSettings)
    return { send, sendOnce, pauses }
  })
