import { SqlClient } from "@effect/sql"
import { Context, Effect, Layer, Option } from "effect"
import { makeForget } from "../database/Forgetting.ts"
import { discardRows } from "../database/Rows.ts"
import { orDie } from "../database/SqlErrors.ts"
import { makeAttemptStatements } from "./Attempts.sql.ts"
import { makePasswordLinkStatements } from "./PasswordLinks.sql.ts"
import { makeSecurityMailStatements } from "./SecurityMails.sql.ts"
import { makeSessionStatements } from "./Sessions.sql.ts"
import { makeTeamStatements } from "./Team.sql.ts"
import { makeTeamLogStatements } from "./TeamLog.sql.ts"
import { makeUserStatements } from "./Users.sql.ts"

export type AttemptKind =
  | "sign-in"
  | "sign-in-address"
  | "sign-in-device"
  | "registration"
  | "second-factor"
  | "own-password"
  | "new-password"
  | "new-password-address"
  | "wrong-code"
  | "wrong-code-mail"
  | "link-mail"

/** Maximum lifetime of a session after its last request (`idleSeconds`), and in total (`wholeSeconds`). */
export interface SessionLife {
  readonly idleSeconds: number
  readonly wholeSeconds: number
}

/** The window in which wrong codes are counted, and the mails about them. */
export const daySeconds = 86_400

/** The age at which a mail about how a user signs in is given up. */
export const maxMailSeconds = daySeconds

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const forget = makeForget(sql)

  return {
    ...makeUserStatements(sql),
    ...makePasswordLinkStatements(sql),
    ...makeTeamStatements(sql),
    ...makeTeamLogStatements(sql),
    ...makeSecurityMailStatements(sql),
    ...makeSessionStatements(sql),
    ...makeAttemptStatements(sql),
    /** The base URL with which the service was last started. Links begin with it. */
    serviceAddress: sql<{ readonly address: string | null }>`SELECT base_url AS address FROM installation`.pipe(
      Effect.map(([row]) => Option.fromNullable(row?.address)),
      orDie
    ),
    // Writes nothing if the URL is the same as at the last start.
    keepServiceAddress: (baseUrl: string) =>
      sql`UPDATE installation SET base_url = ${baseUrl} WHERE base_url IS DISTINCT FROM ${baseUrl}`.pipe(discardRows),
    /** Deletes expired sessions, links, devices, attempts, and mails that were given up. Returns the number of rows. */
    forget: ({ idleSeconds, wholeSeconds }: SessionLife, attemptSeconds: number, deviceSeconds: number) =>
      orDie(
        forget({
          session: sql`(t.last_seen_at <= app_now() - make_interval(secs => ${idleSeconds})
            OR t.created_at <= app_now() - make_interval(secs => ${wholeSeconds}))`,
          password_link: sql`t.expires_at <= app_now()`,
          sign_in_step: sql`t.expires_at <= app_now()`,
          sign_in_device: sql`t.signed_in_at <= app_now() - make_interval(secs => ${deviceSeconds})`,
          // Without a mail server, nobody sends them.
          security_mail: sql`t.at <= app_now() - make_interval(secs => ${maxMailSeconds})`,
          attempt: sql`t.since <= app_now() - make_interval(secs => ${attemptSeconds})
            AND (t.kind NOT LIKE 'wrong-code%' OR t.since <= app_now() - make_interval(secs => ${daySeconds}))`
        })
      )
  }
})

/**
 * Users, the one-time links with which they set passwords, their browsers, and attempts to sign in or register. There is no
 * in-memory implementation. Secrets are passed and stored as SHA-256, here in hexadecimal.
 */
export class UsersRepo extends Context.Tag("catalog/UsersRepo")<UsersRepo, Effect.Effect.Success<typeof make>>() {
  static readonly layer = Layer.effect(UsersRepo, make)
}
