import { Context, Duration, Effect, Either, Layer, Option, Redacted } from "effect"
import { Transaction } from "../database/Transaction.ts"
import { NotFound, ValidationFailed } from "../model/Errors.ts"
import { type AccountId, UserId } from "../model/Ids.ts"
import type { Role } from "../model/Role.ts"
import { mintId } from "../runtime/Identifiers.ts"
import { normalEmail, readEmail } from "./Email.ts"
import { type Delivery, waitingLasts } from "./Mailer.ts"
import type { LinkReader } from "./PasswordLinks.sql.ts"
import { languages, timeZones } from "./Profile.ts"
import { makeRemoveFactor, SecondFactorsRepo } from "./SecondFactorsRepo.ts"
import { deriveSecret, hashOf, mintSecret } from "./Secrets.ts"
import { authorIn, type NewTeamEvent, type TeamEvent } from "./TeamLog.ts"
import type { Identity, SignedIn } from "./User.ts"
import { UsersRepo } from "./UsersRepo.ts"

/** The setting of an account that all its users need a second factor. */
const makeRequiredFactor = (users: UsersRepo["Type"], transaction: Transaction["Type"]) => ({
  /** Whether all users of the account need a second factor. */
  requiresSecondFactor: users.requiresSecondFactor,
  /**
   * Changes the setting. Switching it on ends the sessions of users without a second factor: they set it up at the next sign-in, which
   * asks for the password. ValidationFailed: the administrator who switches it on has no second factor.
   */
  requireSecondFactor: Effect.fn("Users.requireSecondFactor")(function* (accountId: AccountId, isRequired: boolean) {
    const author = yield* authorIn(accountId)
    if (isRequired && author._tag === "User") {
      const own = (yield* users.list(accountId)).find(({ id }) => id === author.userId)
      if (own?.hasSecondFactor !== true)
        return yield* ValidationFailed.at(
          "",
          "cannot be required before you have one yourself: set it up on your profile"
        )
    }
    if (!(yield* users.setRequiresSecondFactor(accountId, isRequired))) return
    if (isRequired) yield* users.endSessionsWithoutFactor(accountId)
    yield* users.record(author, {
      action: isRequired ? "second_factor_required" : "second_factor_optional",
      email: null
    })
  }, transaction.run)
})

/** Lifetime of a link in days: to set a new password, and of an invitation that is sent from the pages. */
export const linkDays = { password: 1, invitation: 7 } as const

/** Maximum changes of the team in one list. */
const maxLogged = 250

const daySeconds = 86_400
const hourSeconds = 3_600

const emailOf = (text: string) => Either.mapLeft(readEmail(text), (rule) => ValidationFailed.at("email", rule))

/** A one-time link by which a user sets a password. `email` is in lower case. */
export interface PasswordLink extends LinkReader {
  readonly accountId: AccountId
  readonly email: string
  readonly token: Redacted.Redacted
}

/** A form that makes a link: its own id, and the token of the session of the browser that shows it. */
export interface LinkFormKey {
  readonly id: string
  readonly session: string
}

/** A link of a form. `isRepeated`: the same form has made it before. */
export interface FormLink extends PasswordLink {
  readonly isRepeated: boolean
}

/** Finds the valid link of a user that has this token, because the same form has made it before. */
const makeFindMade =
  (users: UsersRepo["Type"]) =>
  (
    accountId: AccountId,
    { email, id }: Pick<Identity, "email" | "id">,
    token: string
  ): Effect.Effect<Option.Option<FormLink>> =>
    Effect.map(
      users.findOwnLink(accountId, id, hashOf(token)),
      Option.map((made) => ({ ...made, accountId, email, token: Redacted.make(token), isRepeated: true }))
    )

/**
 * Makes a link of a user that is valid for `days`. `chosen`: its token; by default a new one. If the same form makes it at the same time,
 * it is made once.
 */
export const makeLinks = (users: UsersRepo["Type"]) =>
  Effect.fnUntraced(function* (
    accountId: AccountId,
    user: Pick<Identity, "email" | "id">,
    days: number,
    chosen?: string
  ) {
    const token = chosen ?? (yield* mintSecret("passwordLink"))
    const reader = yield* users.setLink(accountId, user.id, hashOf(token), days * daySeconds)
    if (Option.isNone(reader)) return yield* Effect.flatMap(makeFindMade(users)(accountId, user, token), Effect.orDie)
    const made = { ...reader.value, accountId, email: user.email, token: Redacted.make(token) }
    return { ...made, isRepeated: false } satisfies FormLink
  })

/** Maximum mails with links that the users of an account send to colleagues in an hour. */
const maxLinkMails = 50

/** Adds users, and makes the links with which they set their passwords. */
const makeInvitations = (users: UsersRepo["Type"]) => {
  const makeLink = makeLinks(users)

  /** Adds a user. False: a user of the account has this e-mail. */
  const add = Effect.fnUntraced(function* (accountId: AccountId, email: string, role: Role | undefined) {
    const isFirst = (yield* users.list(accountId)).length === 0
    const isAdded = yield* users.add(accountId, {
      id: yield* mintId(UserId),
      email,
      role: role ?? (isFirst ? "admin" : "view")
    })
    if (isAdded && isFirst && role !== undefined && role !== "admin")
      return yield* ValidationFailed.at("role", "must be admin for the first user of an account")
    return isAdded
  })

  return { add, findMade: makeFindMade(users), makeLink }
}

const makeKeepMailState =
  (users: UsersRepo["Type"]) =>
  ({ accountId, token }: PasswordLink, delivery: Delivery) =>
    users.keepMailState(
      accountId,
      hashOf(Redacted.value(token)),
      "reason" in delivery ? delivery.reason : null,
      delivery.state === "waiting" ? Duration.toSeconds(waitingLasts) : null
    )

/** Records changes of the team. */
const makeRecording = (users: UsersRepo["Type"], transaction: Transaction["Type"]) => {
  const record = (accountId: AccountId, event: NewTeamEvent) =>
    Effect.flatMap(authorIn(accountId), (author) => users.record(author, event))

  /** Records what a statement has changed. NotFound: the account has no such user. */
  const recorded = <E>(
    accountId: AccountId,
    event: NewTeamEvent,
    statement: Effect.Effect<Option.Option<{ readonly isChanged: boolean }>, E>
  ) =>
    Effect.gen(function* () {
      const user = yield* statement
      if (Option.isNone(user)) return yield* new NotFound()
      if (user.value.isChanged) yield* record(accountId, event)
    }).pipe(transaction.run)

  return { record, recorded }
}

/** Records that a link was made: for a new user as an invitation with the role, for another one as a link. */
const makeRecordLink =
  (users: UsersRepo["Type"], record: ReturnType<typeof makeRecording>["record"]) =>
  (accountId: AccountId, email: string, isAdded: boolean) =>
    Effect.gen(function* () {
      if (!isAdded) return yield* record(accountId, { action: "link_made", email })
      const added = (yield* users.list(accountId)).find((each) => each.email === email)
      yield* record(accountId, { action: "invited", email, role: added?.role })
    })

/** Invitations of new users from the pages. */
const makeInviteNew = (
  users: UsersRepo["Type"],
  transaction: Transaction["Type"],
  recordLink: ReturnType<typeof makeRecordLink>
) => {
  const { add, findMade, makeLink } = makeInvitations(users)

  return {
    /**
     * As `invite`, for a new user only. The same form returns the same link again while it is valid. ValidationFailed: not an e-mail address, or one of a user of this account. The e-mail of a user
     * of another account can be invited too: only the holder of the link learns that it is taken.
     */
    inviteNew: Effect.fn("Users.inviteNew")(function* (
      accountId: AccountId,
      rawEmail: string,
      role: Role,
      form?: LinkFormKey
    ) {
      const email = yield* emailOf(rawEmail)
      return yield* Effect.gen(function* () {
        const isAdded = yield* add(accountId, email, role)
        const user = yield* Effect.flatMap(users.findInAccount(accountId, email), Effect.orDie)
        // With the user's id, so that a form does not make the link of a cancelled invitation valid again.
        const token = form && deriveSecret("passwordLink", form.session, `invite ${form.id} ${user.id} ${role}`)
        if (isAdded) {
          yield* recordLink(accountId, email, true)
          return yield* makeLink(accountId, user, linkDays.invitation, token)
        }
        const made = token === undefined ? Option.none() : yield* findMade(accountId, user, token)
        return Option.isSome(made) ? made.value : yield* ValidationFailed.at("email", "is in the team already")
      }).pipe(transaction.run)
    }),
    /** Counts a mail with a link. Returns why it must not be sent, if the account has sent 50 in an hour. */
    countLinkMail: (accountId: AccountId): Effect.Effect<Option.Option<string>> =>
      Effect.map(
        users.countAttempt("link-mail", hashOf(accountId), { maxAttempts: maxLinkMails, windowSeconds: hourSeconds }),
        (waitSeconds) =>
          waitSeconds > 0
            ? Option.some(`this account has sent ${maxLinkMails} mails with links within an hour`)
            : Option.none()
      )
  }
}

/**
 * Makes a new link of a user of the account, which replaces the older one. As `inviteNew`, it does not tell whether a user of another
 * account signs in with the e-mail. NotFound: the account has no such user. ValidationFailed: the user is disabled.
 *
 * The id of `form` is that of the user's newest change when it was shown. The same form, and another one of the same session that shows
 * the same change, return the same link again while it is valid. ValidationFailed: the user has changed since, so a link that was used or
 * replaced does not become valid again.
 */
const makeRenewLink = (
  users: UsersRepo["Type"],
  transaction: Transaction["Type"],
  recordLink: ReturnType<typeof makeRecordLink>
) =>
  Effect.fn("Users.renewLink")(function* (accountId: AccountId, email: string, days: number, form?: LinkFormKey) {
    const user = yield* Effect.mapError(yield* users.findInAccount(accountId, email), () => new NotFound())
    if (user.disabled) return yield* ValidationFailed.at("email", "belongs to a disabled user")
    const token = form && deriveSecret("passwordLink", form.session, `link ${form.id} ${user.id}`)
    if (form !== undefined && token !== undefined) {
      // Read first: if the same form has made its link meanwhile, the next statement finds it.
      const isUnchanged = (yield* users.lastEvents(accountId)).get(email) === form.id
      const made = yield* makeFindMade(users)(accountId, user, token)
      if (Option.isSome(made)) return made.value
      if (!isUnchanged)
        return yield* ValidationFailed.at(
          "email",
          "has changed since this page was opened. Check the user below, and try again"
        )
    }
    const made = yield* makeLinks(users)(accountId, user, days, token)
    if (!made.isRepeated) yield* recordLink(accountId, email, false)
    return made
  }, transaction.run)

/**
 * Resets second factors, and frees e-mail addresses, so that users of other accounts can sign in with them: deletes the password and the
 * second factor of the user who signs in with one, and disables the user, which ends their sessions and connections.
 */
const makeFactorRemovals = (
  users: UsersRepo["Type"],
  factors: SecondFactorsRepo["Type"],
  transaction: Transaction["Type"]
) => {
  const { record, recorded } = makeRecording(users, transaction)
  const keepingAnAdministrator = makeKeepingAnAdministrator(users, transaction)
  const removeFactor = makeRemoveFactor(factors)

  return {
    /** The user of any account who signs in with an e-mail address. NotFound: nobody does. */
    findHolder: Effect.fn("Users.findHolder")(function* (address: string) {
      return yield* Effect.mapError(yield* users.findByEmail(normalEmail(address)), () => new NotFound())
    }),
    /** NotFound: the user does not sign in with the address any more. ValidationFailed: the user is the last administrator. */
    freeAddress: Effect.fn("Users.freeAddress")(function* ({ accountId, email, id }: Identity) {
      const take = Effect.gen(function* () {
        const taken = yield* users.takeAddress(accountId, email)
        if (Option.isNone(taken)) return Option.none()
        yield* removeFactor({ accountId, id })
        return Option.some({ isChanged: true })
      })
      const free = recorded(accountId, { action: "address_freed", email }, take)
      yield* keepingAnAdministrator(accountId, email, free)
    }),
    /**
     * Switches the second factor of a user off, who then signs in with the password alone. False: it was off. NotFound: the account has
     * no such user.
     */
    resetSecondFactor: Effect.fn("Users.resetSecondFactor")(function* (accountId: AccountId, email: string) {
      const { id } = yield* Effect.mapError(yield* users.findInAccount(accountId, email), () => new NotFound())
      const isChanged = yield* removeFactor({ accountId, id })
      if (isChanged) yield* record(accountId, { action: "second_factor_reset", email })
      return isChanged
    }, transaction.run)
  }
}

/**
 * Lets a disabled user sign in again, with the same password. NotFound: the account has no such user. ValidationFailed: the user has no
 * password, and the caller is not the operator. If the operator freed the user's e-mail address, administrators of the account must not
 * take it back before its owner has accepted an invitation to another account.
 */
const makeEnable = (users: UsersRepo["Type"], transaction: Transaction["Type"]) => {
  const { recorded } = makeRecording(users, transaction)

  return Effect.fn("Users.enable")(function* (accountId: AccountId, email: string) {
    const author = yield* authorIn(accountId)
    const enabled = Effect.filterOrFail(
      users.enable(accountId, email, { isOperator: author._tag === "Cli" }),
      (user) => !Option.exists(user, ({ isRefused }) => isRefused),
      () => ValidationFailed.at("email", "has no password: only the operator of this service can enable this user")
    )
    yield* recorded(accountId, { action: "enabled", email }, enabled)
  })
}

const make = Effect.gen(function* () {
  const users = yield* UsersRepo
  const factors = yield* SecondFactorsRepo
  const transaction = yield* Transaction
  const { add, makeLink } = makeInvitations(users)
  const keepingAnAdministrator = makeKeepingAnAdministrator(users, transaction)

  const { record, recorded } = makeRecording(users, transaction)

  const giveRole = (accountId: AccountId, email: string, role: Role) => {
    const change = recorded(accountId, { action: "role_changed", email, role }, users.setRole(accountId, email, role))
    return role === "admin" ? change : keepingAnAdministrator(accountId, email, change)
  }

  const recordLink = makeRecordLink(users, record)

  return {
    ...makeRequiredFactor(users, transaction),
    /** The base URL with which the service was last started. Links begin with it. */
    serviceAddress: users.serviceAddress,
    keepServiceAddress: users.keepServiceAddress,
    /**
     * Creates a one-time link, valid for `days` (default: one), by which the user sets a password. It replaces an older link. Adds the
     * user if the account has none with this e-mail, with the role `role`; a user who exists gets this role. Without `role`, the
     * first user of an account becomes administrator and any other new user may view.
     *
     * ValidationFailed: not an e-mail address, an e-mail of another account, a disabled user, or a first user who would not be
     * administrator; or, as for `setRole`, the role of the last administrator.
     */
    invite: Effect.fn("Users.invite")(function* (
      accountId: AccountId,
      rawEmail: string,
      { days = linkDays.password, role }: { readonly role?: Role | undefined; readonly days?: number | undefined } = {}
    ) {
      const email = yield* emailOf(rawEmail)
      return yield* Effect.gen(function* () {
        const owner = yield* users.findByEmail(email)
        if (Option.isSome(owner) && owner.value.accountId !== accountId)
          return yield* ValidationFailed.at(
            "email",
            "belongs to a user of another account; choose another e-mail address"
          )
        const isAdded = yield* add(accountId, email, role)
        const user = yield* Effect.flatMap(users.findInAccount(accountId, email), Effect.orDie)
        if (user.disabled) return yield* ValidationFailed.at("email", "belongs to a disabled user")
        if (!isAdded && role !== undefined)
          yield* Effect.catchTag(giveRole(accountId, email, role), "NotFound", Effect.die)
        yield* recordLink(accountId, email, isAdded)
        return yield* makeLink(accountId, user, days)
      }).pipe(transaction.run)
    }),
    ...makeInviteNew(users, transaction, recordLink),
    renewLink: makeRenewLink(users, transaction, recordLink),
    ...makeFactorRemovals(users, factors, transaction),
    /** All users of the account, including disabled ones, oldest first. */
    list: users.list,
    /**
     * Changes what a user may do, from the next request on. It also bounds the connections that the user granted. NotFound: the
     * account has no such user. ValidationFailed: the user is the last administrator.
     */
    setRole: giveRole,
    /**
     * Disables a user and ends the user's sessions and connections. NotFound: the account has no such user. ValidationFailed: the
     * user is the last administrator.
     */
    disable: Effect.fn("Users.disable")(function* (accountId: AccountId, email: string) {
      const disable = recorded(accountId, { action: "disabled", email }, users.disable(accountId, email))
      yield* keepingAnAdministrator(accountId, email, disable)
    }),
    enable: makeEnable(users, transaction),
    /**
     * Sets the language and the time zone of a user. An empty text clears the value. ValidationFailed: not one of `languages`, or
     * not a time zone.
     */
    setProfile: Effect.fn("Users.setProfile")(function* (
      { accountId, userId }: Pick<SignedIn, "accountId" | "userId">,
      { language, timeZone }: { readonly language: string; readonly timeZone: string }
    ) {
      if (language !== "" && !languages.some(({ tag }) => tag === language))
        return yield* ValidationFailed.at("language", "must be one of the languages in the list")
      if (timeZone !== "" && !timeZones.includes(timeZone))
        return yield* ValidationFailed.at("time zone", "must be one of the time zones in the list")
      yield* users.setProfile(accountId, userId, {
        language: language === "" ? null : language,
        timeZone: timeZone === "" ? null : timeZone
      })
    }),
    /**
     * Deletes a user who has never signed in, and the user's link. NotFound: no such user. ValidationFailed: the user has accepted
     * the invitation, or is the last administrator.
     */
    cancelInvitation: Effect.fn("Users.cancelInvitation")(function* (accountId: AccountId, email: string) {
      const removed = Effect.gen(function* () {
        if (yield* users.remove(accountId, email)) return Option.some({ isChanged: true })
        if (Option.isNone(yield* users.findInAccount(accountId, email))) return Option.none()
        return yield* ValidationFailed.at("email", "has accepted the invitation already; disable the user instead")
      })
      const cancel = recorded(accountId, { action: "invitation_cancelled", email }, removed)
      yield* keepingAnAdministrator(accountId, email, cancel)
    }),
    /** Stores whether the mail with a link was delivered. False: the link was used or replaced, or has expired. */
    keepMailState: makeKeepMailState(users),
    /** The id of the newest change of each user, by e-mail. */
    lastEvents: users.lastEvents,
    /** Up to `limit` (1 to 250) changes of the team before the one with this id, newest first; undefined: the newest. */
    log: (accountId: AccountId, limit: number, before?: number): Effect.Effect<ReadonlyArray<TeamEvent>> =>
      users.readLog(accountId, before, Math.min(Math.max(limit, 1), maxLogged))
  }
})

/** Users of an account, as its administrators and its operator manage them. */
export class Users extends Context.Tag("catalog/Users")<Users, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(Users, make)
}

/**
 * Runs a change after which a user is no administrator. First locks the rows of all administrators, so that two
 * administrators who remove each other at the same time are processed one after the other. ValidationFailed: the author is no
 * administrator any more, or no other administrator who can sign in would remain. If the user cannot sign in yet, any other
 * administrator is enough.
 */
const makeKeepingAnAdministrator =
  (users: UsersRepo["Type"], transaction: Transaction["Type"]) =>
  <A, E>(accountId: AccountId, email: string, change: Effect.Effect<A, E>): Effect.Effect<A, E | ValidationFailed> =>
    Effect.gen(function* () {
      const administrators = yield* users.lockAdministrators(accountId)
      const author = yield* authorIn(accountId)
      const authorEmail = author._tag === "User" ? yield* users.emailOf(accountId, author.userId) : undefined
      if (authorEmail !== undefined && !administrators.some((each) => each.email === authorEmail))
        return yield* ValidationFailed.at("email", "is not changed: you are no administrator any more")
      const leaving = administrators.find((each) => each.email === email)
      const remains = administrators.some(
        (each) => each.email !== email && (each.hasPassword || leaving?.hasPassword === false)
      )
      if (leaving !== undefined && !remains)
        return yield* ValidationFailed.at(
          "email",
          "is the last administrator of the account; make somebody else administrator first"
        )
      return yield* change
    }).pipe(transaction.run)
