import { Clock, Effect, Layer, Option, Stream } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { Mailer } from "../access/Mailer.ts"
import type { GuessedCodes, RecordedChange, TeamAction } from "../access/TeamLog.ts"
import { UsersRepo } from "../access/UsersRepo.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { languageOf } from "./languages/Language.ts"
import { type Words, wordsIn } from "./languages/Words.tsx"
import { actorName } from "./Naming.tsx"
import { paths } from "./Paths.ts"
import { timeIn } from "./Times.ts"
import { actionWords } from "./team/TeamChanges.tsx"

/** Mails that are sent at the same time. */
const atOnce = 4

/** The changes of how a user signs in. */
const mailed: ReadonlySet<TeamAction> = new Set([
  "password_set",
  "second_factor_on",
  "second_factor_off",
  "second_factor_reset",
  "recovery_codes_renewed"
])

const isChange = (event: RecordedChange | GuessedCodes): event is RecordedChange => event.action !== "codes_guessed"

interface Content {
  readonly subject: string
  readonly lines: ReadonlyArray<string>
}

/** The mail about a change. */
const changeContent = (t: Words, { action, actor, email }: RecordedChange, account: string, time: string): Content => ({
  subject: t("Your sign-in to the catalog has changed"),
  lines: [
    t("How you sign in to the catalog of {account} has changed:", { account }),
    "",
    `${time}: ${t(actionWords[action], { user: email ?? "", role: "" })}`,
    `${t("By")}: ${actorName(t, actor)}`,
    "",
    t("If you do not know why, set a new password now, and tell an administrator of the account:")
  ]
})

/** The mail about guessed codes. Its reader may have mistyped them. */
const guessesContent = (t: Words, account: string, time: string): Content => ({
  subject: t("Wrong codes at your sign-in to the catalog"),
  lines: [
    t(
      "{time}: somebody who knows your password for the catalog of {account} has entered several wrong codes of your second factor, and was not let in.",
      { time, account }
    ),
    "",
    t("If it was not you, set a new password now, and tell an administrator of the account:")
  ]
})

/**
 * Mails users when the way they sign in has changed, or somebody guesses codes with their password, so that they notice. Without a mail server it does nothing.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const mailer = yield* Mailer
    if (!mailer.isSet) return
    const accounts = yield* Accounts
    const baseUrl = yield* BaseUrl
    const users = yield* UsersRepo

    const tell = (event: RecordedChange | GuessedCodes) =>
      Effect.gen(function* () {
        const { accountId, email } = event
        if ((isChange(event) && !mailed.has(event.action)) || email === null) return
        const [reader, account] = [yield* users.readerOf(accountId, email), yield* accounts.nameOf(accountId)]
        if (Option.isNone(reader) || Option.isNone(account)) return
        const { language, timeZone } = reader.value
        const pageLanguage = languageOf(language ?? "") ?? "en"
        const t = wordsIn(pageLanguage)
        const time = timeIn(fromMillis(yield* Clock.currentTimeMillis), { pageLanguage, timeZone })
        const { lines, subject } = isChange(event)
          ? changeContent(t, event, account.value, time)
          : guessesContent(t, account.value, time)
        const text = [...lines, `${baseUrl}${paths.forgotPassword}`].join("\n")
        const mail = { to: email, subject, language: pageLanguage, text }
        yield* mailer.send(mail, () => Effect.succeed(true))
      }).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("A mail about a changed sign-in could not be sent", cause))
      )

    yield* Stream.fromQueue(yield* users.recorded).pipe(
      Stream.mapEffect(tell, { concurrency: atOnce, unordered: true }),
      Stream.runDrain,
      Effect.forkScoped
    )
  })
)
