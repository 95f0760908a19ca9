import { Duration, Effect, Fiber, Layer, Option, Schedule } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { Mailer } from "../access/Mailer.ts"
import type { ClaimedMail } from "../access/SecurityMails.sql.ts"
import { maxMailSeconds, UsersRepo } from "../access/UsersRepo.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { languageOf } from "./languages/Language.ts"
import { type Words, wordsIn } from "./languages/Words.tsx"
import { actorName } from "./Naming.tsx"
import { paths } from "./Paths.ts"
import { timeIn } from "./Times.ts"
import { actionWords } from "./team/TeamChanges.tsx"

/** Mails that one process sends at the same time. */
const atOnce = 4

/** Lifetime of a lease. An attempt takes at most 15 s, so a lease expires only if its process has stalled or died. */
const leaseSeconds = 45

/** Time for attempts that are under way when the process is stopped. With that of requests it is less than the time before SIGKILL. */
const lastPatience = "3 seconds"

/** Interval between queries for mails that are due. */
const pollInterval = "1 second"

interface Content {
  readonly subject: string
  readonly lines: ReadonlyArray<string>
}

/** The mail about a change, or about guessed codes. The reader of the latter may have mistyped them. */
const contentOf = (t: Words, { actor, email, kind }: ClaimedMail, account: string, time: string): Content =>
  kind === "codes_guessed"
    ? {
        subject: t("Wrong codes at your sign-in to the catalog"),
        lines: [
          t(
            "{time}: somebody who knows your password for the catalog of {account} has entered several wrong codes of your second factor, and was not let in.",
            { time, account }
          ),
          "",
          t("If it was not you, set a new password now, and tell an administrator of the account:")
        ]
      }
    : {
        subject: t("Your sign-in to the catalog has changed"),
        lines: [
          t("How you sign in to the catalog of {account} has changed:", { account }),
          "",
          `${time}: ${t(actionWords[kind], { user: email, role: "" })}`,
          ...(actor === null ? [] : [`${t("By")}: ${actorName(t, actor)}`]),
          "",
          t("If you do not know why, set a new password now, and tell an administrator of the account:")
        ]
      }

/** Sends the claimed mails, and deletes those that were sent, were refused for good, or are too old. */
const makeSendClaimed = Effect.gen(function* () {
  const accounts = yield* Accounts
  const baseUrl = yield* BaseUrl
  const mailer = yield* Mailer
  const users = yield* UsersRepo

  const pauseAfter = (attempts: number) =>
    Duration.toSeconds(mailer.pauses[attempts - 1] ?? mailer.pauses.at(-1) ?? Duration.minutes(1))

  return (mail: ClaimedMail) =>
    Effect.gen(function* () {
      const account = yield* accounts.nameOf(mail.accountId)
      // The account is being deleted.
      if (Option.isNone(account)) return yield* users.deleteMail(mail)
      const pageLanguage = languageOf(mail.language ?? "") ?? "en"
      const t = wordsIn(pageLanguage)
      const time = timeIn(mail.at, { pageLanguage, timeZone: mail.timeZone })
      const { lines, subject } = contentOf(t, mail, account.value, time)
      const text = [...lines, `${baseUrl}${paths.forgotPassword}`].join("\n")
      const delivery = yield* mailer.sendOnce({ to: mail.email, subject, language: pageLanguage, text }, mail.id)
      const pause = pauseAfter(mail.attempts)
      if (delivery.state === "waiting" && mail.ageSeconds + pause < maxMailSeconds)
        return yield* users.postponeMail(mail, pause)
      if ("reason" in delivery)
        yield* Effect.logWarning(`A mail about a changed sign-in is not sent again: ${delivery.reason}`)
      yield* users.deleteMail(mail)
    }).pipe(
      Effect.annotateLogs({ accountId: mail.accountId }),
      // The lease expires, and the mail is sent again.
      Effect.catchAllCause((cause) => Effect.logWarning("A mail about a changed sign-in could not be sent", cause))
    )
})

/**
 * Mails users when the way they sign in has changed, or somebody guesses codes with their password, so that they notice. Any number of
 * processes may do so at the same time. Without a mail server it does nothing.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { isSet } = yield* Mailer
    if (!isSet) return
    const { claimMails } = yield* UsersRepo
    const sendClaimed = yield* makeSendClaimed

    const sendDue = Effect.gen(function* () {
      const claimed = yield* claimMails(atOnce, leaseSeconds)
      yield* Effect.forEach(claimed, sendClaimed, { concurrency: "unbounded", discard: true })
      return claimed.length
    })
    // A process that is being stopped lets its attempts end. Else a mail that the server accepts meanwhile would be sent again. Attempts at
    // a server that hangs are cut off: their leases expire, and the mails are sent again.
    const sendUninterrupted = Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkDaemon(Effect.interruptible(sendDue)), (attempts) =>
        restore(Fiber.join(attempts)).pipe(
          Effect.onInterrupt(() =>
            Effect.interruptible(Fiber.await(attempts)).pipe(
              Effect.timeoutOption(lastPatience),
              Effect.zipRight(Fiber.interrupt(attempts))
            )
          )
        )
      )
    )
    yield* Effect.repeat(sendUninterrupted, { while: (count) => count > 0 }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Looking for mails about changed sign-ins failed", cause)),
      Effect.repeat(Schedule.spaced(pollInterval)),
      Effect.forkScoped
    )
  })
)
