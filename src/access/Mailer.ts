import { Context, Duration, Effect, Layer, Option, Redacted } from "effect"

/** How mail is sent: the URL of an SMTP server, and the sender's address. */
export interface MailSettings {
  readonly url: Redacted.Redacted
  readonly from: string
}

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
}

const stepMillis = 5_000
const patience = Duration.seconds(15)

/** Sends mail by SMTP, if the settings name a server. */
export class Mailer extends Context.Tag("catalog/Mailer")<
  Mailer,
  {
    readonly isSet: boolean
    /** Sends a mail. False: it was not accepted within 15 s, or no server is set. The log has the reason. */
    readonly send: (mail: Mail) => Effect.Effect<boolean>
  }
>() {
  static readonly layer = (settings: Option.Option<MailSettings>) =>
    Layer.succeed(Mailer, {
      isSet: Option.isSome(settings),
      send: Effect.fn("Mailer.send")(function* (mail) {
        if (Option.isNone(settings)) return false
        const { from, url } = settings.value
        return yield* Effect.tryPromise(async () => {
          const { createTransport } = await import("nodemailer")
          const transport = createTransport({
            url: Redacted.value(url),
            connectionTimeout: stepMillis,
            greetingTimeout: stepMillis,
            socketTimeout: stepMillis
          })
          await transport.sendMail({ from, ...mail })
        }).pipe(
          Effect.timeout(patience),
          Effect.as(true),
          Effect.catchAll((error) =>
            Effect.as(Effect.logWarning("A mail could not be sent by the server of SMTP_URL", error), false)
          )
        )
      })
    })
}
