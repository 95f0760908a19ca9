import { Clock, Effect, Layer, Option, Stream } from "effect"
import { Accounts } from "../access/Accounts.ts"
import { Mailer } from "../access/Mailer.ts"
import type { RecordedChange, TeamAction } from "../access/TeamLog.ts"
import { UsersRepo } from "../access/UsersRepo.ts"
import { BaseUrl } from "../http/BaseUrl.ts"
import { fromMillis } from "../model/Timestamp.ts"
import { languageOf } from "./languages/Language.ts"
import { wordsIn } from "./languages/Words.tsx"
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

/**
 * Mails users when the way they sign in has changed, so that they notice a change by somebody else. Without a mail server it does nothing.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const mailer = yield* Mailer
    if (!mailer.isSet) return
    const accounts = yield* Accounts
    const baseUrl = yield* BaseUrl
    const users = yield* UsersRepo

    const tell = ({ accountId, action, actor, email }: RecordedChange) =>
      Effect.gen(function* () {
        if (!mailed.has(action) || email === null) return
        const [reader, account] = [yield* users.readerOf(accountId, email), yield* accounts.nameOf(accountId)]
        if (Option.isNone(reader) || Option.isNone(account)) return
        const { language, timeZone } = reader.value
        const pageLanguage = languageOf(language ?? "") ?? "en"
        const t = wordsIn(pageLanguage)
        const time = timeIn(fromMillis(yield* Clock.currentTimeMillis), { pageLanguage, timeZone })
        const text = [
          t("How you sign in to the catalog of {account} has changed:", { account: account.value }),
          "",
          `${time}: ${t(actionWords[action], { user: email, role: "" })}`,
          `${t("By")}: ${actorName(t, actor)}`,
          "",
          t("If you do not know why, set a new password now, and tell an administrator of the account:"),
          `${baseUrl}${paths.forgotPassword}`
        ].join("\n")
        const mail = { to: email, subject: t("Your sign-in to the catalog has changed"), language: pageLanguage, text }
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
