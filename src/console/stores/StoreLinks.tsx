import { Effect, Either, Option, Redacted } from "effect"
import type { Parameters } from "../../connections/AuthorizationRequest.ts"
import { type Surface, surfaceOf } from "../../http/Surface.ts"
import type { ValidationFailed } from "../../model/Errors.ts"
import { StoreId } from "../../model/Ids.ts"
import { filesOnly } from "../../model/Store.ts"
import { whyUnread } from "../../platform/PlatformErrors.ts"
import { PlatformRegistry } from "../../platform/PlatformRegistry.ts"
import { type BegunChange, Stores } from "../../stores/Stores.ts"
import type { Visitor } from "../Browser.ts"
import { ConfirmPage } from "../ConfirmPage.tsx"
import type { Misfit } from "../Field.tsx"
import { html, seeOther } from "../Html.ts"
import { wordsIn } from "../languages/Words.tsx"
import { idOf, makePageHandlers, type PageServices, queryOf } from "../PageHandlers.ts"
import { jobPath, paths } from "../Paths.ts"
import { refuseOnPage } from "../Refusals.tsx"
import { credentialField, LinkStorePage, type TypedStore } from "./LinkStorePage.tsx"

// Linking a store and testing its token call the store, which may be slow.
const routes = {
  ask: ["GET", paths.linkStore, refuseOnPage, "admin"],
  link: ["POST", paths.linkStore, refuseOnPage, "admin", "batch"],
  testToken: ["POST", paths.testStoreToken, refuseOnPage, "admin", "batch"],
  askUnlink: ["GET", paths.unlinkStore, refuseOnPage, "admin"],
  unlink: ["POST", paths.unlinkStore, refuseOnPage, "admin"]
} as const

const typedIn = (parameters: Parameters): TypedStore => ({
  domain: (parameters.get("domain") ?? "").trim(),
  name: parameters.get("name") ?? "",
  locale: (parameters.get("locale") ?? "").trim(),
  currency: (parameters.get("currency") ?? "").trim().toUpperCase()
})

/** The host name in an address that was pasted from a browser. */
const hostOf = (address: string) => address.replace(/^https?:\/\//i, "").replace(/\/.*$/, "")

/** An empty field is left out: it gets the default, or keeps its value if the store was linked before. */
const orNone = (text: string) => (text.trim() === "" ? undefined : text)

/** The page of the job that a change began, or the stores. */
const redirectAfter = ({ job }: BegunChange, note: string) =>
  seeOther(job === null ? `${paths.stores}?note=${note}` : jobPath(job.id))

/** The forms that link a store, test its token and unlink it. */
export const storeLinks: Surface<PlatformRegistry | Stores | PageServices> = surfaceOf(
  routes,
  Effect.gen(function* () {
    const { all, find } = yield* PlatformRegistry
    const stores = yield* Stores
    const { asVisitor, withForm } = yield* makePageHandlers

    /** Null: from files. Undefined: no platform has this name, so the first one is shown. */
    const platformIn = (parameters: Parameters) => {
      const name = parameters.get("platform") ?? all[0]?.name ?? filesOnly
      return Option.getOrUndefined(find(name))
    }

    const show = (visitor: Visitor, parameters: Parameters, misfit?: Misfit) =>
      html(
        visitor,
        <LinkStorePage
          visitor={visitor}
          platforms={all}
          platform={platformIn(parameters)}
          typed={typedIn(parameters)}
          misfit={misfit}
        />,
        { status: misfit === undefined ? 200 : 400 }
      )

    /** The first problem, at its field. */
    const misfitOf = (parameters: Parameters, { issues: [issue] }: ValidationFailed): Misfit => {
      const path = issue?.path ?? ""
      const isCredential = platformIn(parameters)?.fields.some(({ name }) => name === path) === true
      return {
        field: isCredential ? credentialField(path) : path === "platform" ? "" : path,
        message: issue?.message ?? "is not right"
      }
    }

    return {
      ask: asVisitor((visitor, request) => Effect.succeed(show(visitor, queryOf(request)))),
      link: withForm((visitor, form) =>
        Effect.gen(function* () {
          const { currency, domain, locale, name } = typedIn(form)
          const fields = platformIn(form)?.fields ?? []
          const linked = yield* stores
            .beginLink({
              domain: hostOf(domain),
              platform: form.get("platform") ?? filesOnly,
              name: orNone(name),
              primaryLocale: orNone(locale),
              currency: orNone(currency),
              credentials: Object.fromEntries(
                fields.map((field) => [field.name, Redacted.make((form.get(credentialField(field.name)) ?? "").trim())])
              )
            })
            .pipe(Effect.either)
          if (Either.isRight(linked)) return redirectAfter(linked.right, "linked")
          const error = linked.left
          if (error._tag === "PimLocked") return yield* error
          if (error._tag === "ValidationFailed") return show(visitor, form, misfitOf(form, error))
          const [first] = fields
          return show(visitor, form, {
            field: first === undefined ? "domain" : credentialField(first.name),
            message: whyUnread(error)
          })
        })
      ),
      testToken: withForm((_, form) =>
        Effect.gen(function* () {
          const note = yield* Effect.flatMap(idOf(StoreId, form), stores.testCredential).pipe(
            Effect.map((refusal) => (refusal === null ? "accepted" : "refused")),
            Effect.catchTag("PlatformUnavailable", () => Effect.succeed("unreachable"))
          )
          return seeOther(`${paths.stores}?note=${note}`)
        })
      ),
      askUnlink: asVisitor((visitor, request) =>
        Effect.gen(function* () {
          const t = wordsIn(visitor.pageLanguage)
          const store = yield* Effect.flatMap(idOf(StoreId, queryOf(request)), stores.find)
          return html(
            visitor,
            <ConfirmPage
              visitor={visitor}
              section={paths.stores}
              title={t("Unlink {store}?", { store: store.name })}
              question={t(
                "Its items leave this store here, and nothing is published to it any more. The store itself does not change. Only a saved token or saved credentials are deleted: link {domain} again, and everything else is restored.",
                { domain: store.domain }
              )}
              action={paths.unlinkStore}
              id={store.id}
              button={t("Unlink the store")}
            />
          )
        })
      ),
      unlink: withForm((_, form) =>
        Effect.gen(function* () {
          const store = yield* Effect.flatMap(idOf(StoreId, form), stores.find)
          return redirectAfter(yield* stores.beginUnlink(store.domain), "unlinked")
        })
      )
    }
  })
)
