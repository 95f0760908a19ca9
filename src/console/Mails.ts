import { Effect, Option, Redacted } from "effect"
import { type Delivery, type Mail, Mailer } from "../access/Mailer.ts"
import { type PasswordLink, Users } from "../access/Users.ts"
import type { Visitor } from "./Browser.ts"
import { type Language, languageOf } from "./languages/Language.ts"
import { type Words, wordsIn } from "./languages/Words.tsx"
import { setPasswordLink } from "./Paths.ts"
import { timeIn } from "./Times.ts"

/** The language and zone of a mail to a user who has not chosen them: those of the person who caused it. */
interface Sender {
  readonly pageLanguage: Language
  readonly timeZone: string | null
}

/** The words of a mail around its link. */
interface Content {
  readonly subject: string
  readonly intro: string
  readonly end: string
}

/** The mail by which an administrator sends a link. */
export const linkMail =
  (visitor: Pick<Visitor, "accountName" | "email">, isInvitation: boolean) =>
  (t: Words): Content => {
    const sender = { user: visitor.email, account: visitor.accountName }
    return {
      subject: isInvitation
        ? t("Invitation to the catalog of {account}", sender)
        : t("Your new password for the catalog"),
      intro: isInvitation
        ? t("{user} invites you to the catalog of {account}.", sender)
        : t("{user} made a link by which you can set a new password for the catalog of {account}.", sender),
      end: t("If you did not expect this mail, ignore it.")
    }
  }

/** The mail to a user who has forgotten the password. */
export const forgottenMail = (t: Words): Content => ({
  subject: t("Your new password for the catalog"),
  intro: t("Somebody, probably you, asked for a new password for the catalog."),
  end: t("If it was not you, ignore this mail: your password stays as it is.")
})

/** A mail in the language of its reader, with the expiry of the link in the reader's zone. */
const mailOf = (link: PasswordLink, sender: Sender, baseUrl: string, contentOf: (t: Words) => Content): Mail => {
  const chosen = link.language === null ? undefined : languageOf(link.language)
  const reader = { pageLanguage: chosen ?? sender.pageLanguage, timeZone: link.timeZone ?? sender.timeZone }
  const t = wordsIn(reader.pageLanguage)
  const { end, intro, subject } = contentOf(t)
  return {
    to: link.email,
    subject,
    language: reader.pageLanguage,
    text: [
      intro,
      "",
      t("Set your password here (valid once, until {time}):", { time: timeIn(link.expiresAt, reader) }),
      setPasswordLink(baseUrl, Redacted.value(link.token)),
      "",
      end
    ].join("\n")
  }
}

/** As the function of `makeMailLink`, for a link that an administrator makes. It refuses the mail if the account has sent too many. */
export const makeMailTeamLink = Effect.map(
  Effect.all([Mailer, Users, Effect.suspend(() => makeMailLink)]),
  ([mailer, users, mailLink]) =>
    (...[link, ...how]: Parameters<typeof mailLink>): Effect.Effect<Delivery> =>
      Effect.gen(function* () {
        const refusal = mailer.isSet ? yield* users.countLinkMail(link.accountId) : Option.none()
        if (Option.isNone(refusal)) return yield* mailLink(link, ...how)
        const delivery = { state: "refused", reason: refusal.value } as const
        yield* users.keepMailState(link, delivery)
        return delivery
      })
)

/** Sends the mail with a link, and keeps whether it was delivered. */
export const makeMailLink = Effect.map(
  Effect.all([Mailer, Users]),
  ([mailer, users]) =>
    (link: PasswordLink, sender: Sender, baseUrl: string, contentOf: (t: Words) => Content): Effect.Effect<Delivery> =>
      mailer.send(mailOf(link, sender, baseUrl, contentOf), (delivery) => users.keepMailState(link, delivery))
)
