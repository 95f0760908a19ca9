/**
 * A process that resets the second factor of a user, mails it, and dies by SIGKILL at a named step. MAIL_DATABASE_URL is the database,
 * MAIL_PORT the port of the mail server, MAIL_ACCOUNT and MAIL_EMAIL the user. MAIL_STEP: `changed` (the change is committed, and the
 * process has not looked for mails yet), `claimed` (before the mail is sent), or `sent` (before its row is deleted).
 */
import { Config, Effect, Layer, Option, Redacted, Schema } from "effect"
import { AccessRepo } from "../../src/access/AccessRepo.ts"
import { Accounts } from "../../src/access/Accounts.ts"
import { Mailer } from "../../src/access/Mailer.ts"
import { SecondFactorsRepo } from "../../src/access/SecondFactorsRepo.ts"
import { Users } from "../../src/access/Users.ts"
import { UsersRepo } from "../../src/access/UsersRepo.ts"
import * as SecurityMails from "../../src/console/SecurityMails.ts"
import { Transaction } from "../../src/database/Transaction.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { endWithParent } from "./EndWithParent.ts"
import { layerPatientServer, runUntilKilled } from "./OwnDeath.ts"

const dieAt = (step: string) =>
  Effect.flatMap(Effect.orDie(Config.string("MAIL_STEP")), (deadly) => {
    if (deadly !== step) return Effect.void
    process.kill(process.pid, "SIGKILL")
    return Effect.never
  })

const Deadly = Layer.effect(
  UsersRepo,
  Effect.map(UsersRepo, (users) => ({
    ...users,
    claimMails: (...limits: Parameters<typeof users.claimMails>) =>
      Effect.tap(users.claimMails(...limits), ({ length }) => (length > 0 ? dieAt("claimed") : Effect.void)),
    deleteMail: (mail: Parameters<typeof users.deleteMail>[0]) => Effect.zipRight(dieAt("sent"), users.deleteMail(mail))
  }))
).pipe(Layer.provide(UsersRepo.layer))

const MailServer = Layer.unwrapEffect(
  Effect.map(Config.integer("MAIL_PORT"), (port) =>
    Mailer.layer(Option.some({ url: Redacted.make(`smtp://127.0.0.1:${port}`), from: "Catalog <catalog@example.com>" }))
  )
)

endWithParent()

runUntilKilled(
  Effect.gen(function* () {
    const accountId = yield* Schema.decode(AccountId)(yield* Config.string("MAIL_ACCOUNT"))
    yield* (yield* Users).resetSecondFactor(accountId, yield* Config.string("MAIL_EMAIL"))
    yield* dieAt("changed")
    return yield* Layer.launch(SecurityMails.layer)
  }).pipe(
    Effect.provide(
      Layer.mergeAll(Accounts.layer, MailServer, Users.layer, Layer.succeed(BaseUrl, "https://pim.example")).pipe(
        Layer.provideMerge(Deadly),
        Layer.provide([AccessRepo.layer, SecondFactorsRepo.layer, Transaction.layer]),
        Layer.provide(layerPatientServer("MAIL_DATABASE_URL", 4))
      )
    )
  )
)
