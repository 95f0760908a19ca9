import { readdirSync, readFileSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Users } from "../../src/access/Users.ts"
import { csrfOf } from "../../src/console/Browser.ts"
import { pages } from "../../src/console/Console.ts"
import { makeRouteTable, type Route } from "../../src/http/RouteTable.ts"
import type { NeededRole } from "../../src/http/Surface.ts"
import { includesRole, Role } from "../../src/model/Role.ts"
import { aBrowser, aConnection, ask, assertErrorPage, PagesServer } from "../oauth/PagesServer.ts"
import { aFailure, aMerchant, aReview, assertRefusal, textOf } from "./Merchant.ts"

const { routes } = pages({ trustedProxies: 0 })
const nameOf = ({ method, path }: Route) => `${method} ${path}`

/** The role that each route of the pages needs. A new route needs a decision here. */
const decisions: Readonly<Record<NeededRole, ReadonlyArray<string>>> = {
  open: [
    "GET /assets/console.css",
    "GET /assets/console.js",
    "GET /assets/icon.svg",
    "GET /assets/islands.js",
    "GET /assets/richtext.js",
    "GET /assets/ticks.js",
    "GET /events",
    "GET /pictures/:width/:account/:source/:signature",
    "GET /forgot-password",
    "GET /set-password",
    "GET /sign-in",
    "GET /sign-in/code",
    "POST /forgot-password",
    "POST /set-password",
    "POST /sign-in",
    "POST /sign-in/code",
    "POST /sign-out"
  ],
  view: [
    "GET /",
    "GET /collections",
    "GET /console-api/search",
    "GET /data-health",
    "GET /data-health/issues",
    "GET /drops",
    "GET /drops/:id",
    "GET /entity",
    "GET /exports/catalog.jsonl",
    "GET /exports/products.csv",
    "GET /import",
    "GET /imports",
    "GET /jobs",
    "GET /jobs/:id",
    "GET /media",
    "GET /products",
    "GET /selection/cancel-publishes",
    "GET /selection/delete",
    "GET /selection/export",
    "GET /selection/field",
    "GET /selection/publish",
    "GET /selection/schedule",
    "GET /selection/store",
    "GET /selection/store/remove",
    "GET /settings/connections",
    "GET /settings/connections/:id",
    "GET /settings/connections/disconnect",
    "GET /stores",
    "GET /variants",
    "GET /settings/profile",
    "GET /settings/second-factor",
    "POST /first-steps/hide",
    "POST /selection/export",
    "POST /settings/connections/disconnect",
    "POST /settings/profile",
    "POST /settings/profile/end-other-sessions",
    "POST /settings/profile/end-session",
    "POST /settings/profile/password",
    "POST /settings/second-factor",
    "POST /settings/second-factor/confirm",
    "POST /settings/second-factor/disable",
    "POST /settings/second-factor/recovery-codes",
    "POST /settings/theme",
    "POST /views/delete",
    "POST /views/save"
  ],
  edit: [
    "GET /collections/new",
    "GET /collections/products",
    "GET /media/new",
    "GET /products/copy",
    "GET /products/new",
    "GET /settings/connections/undo",
    "GET /variants/new",
    "POST /collections/new",
    "POST /collections/products",
    "POST /collections/products/move",
    "POST /data-health/issues/equal",
    "POST /data-health/issues/fill",
    "POST /data-health/scan",
    "POST /entity/edit",
    "POST /entity/gallery",
    "POST /entity/variants",
    "POST /entity/undo",
    "POST /import/accept",
    "POST /import/decide",
    "POST /import/decide-all",
    "POST /import/discard",
    "POST /imports",
    "POST /jobs/command",
    "POST /media/new",
    "POST /products/copy",
    "POST /products/new",
    "POST /selection/delete",
    "POST /selection/field",
    "POST /selection/store",
    "POST /selection/store/remove",
    "POST /settings/connections/undo",
    "POST /stores/refresh",
    "POST /variants/new"
  ],
  publish: [
    "GET /drops/new",
    "GET /entity/review",
    "GET /stores/publish",
    "POST /data-health/issues/retry",
    "POST /drops",
    "POST /drops/cancel",
    "POST /drops/new",
    "POST /entity/publish",
    "POST /entity/review",
    "POST /exports/products.csv",
    "POST /selection/cancel-publishes",
    "POST /selection/publish",
    "POST /selection/schedule",
    "POST /stores/cancel-publishes",
    "POST /stores/publish",
    "POST /stores/publish-selected"
  ],
  admin: [
    "GET /settings/connections/disconnect-all",
    "GET /settings/keys",
    "GET /settings/keys/revoke",
    "GET /settings/team",
    "GET /settings/team/cancel",
    "GET /settings/team/disable",
    "GET /settings/team/release-second-factor",
    "GET /settings/team/require-second-factor",
    "GET /settings/team/reset-second-factor",
    "GET /settings/webhooks",
    "GET /settings/webhooks/:id",
    "GET /settings/webhooks/delete",
    "GET /stores/channels",
    "GET /stores/link",
    "GET /stores/unlink",
    "POST /settings/connections/disconnect-all",
    "POST /settings/keys",
    "POST /settings/keys/revoke",
    "POST /settings/team",
    "POST /settings/team/cancel",
    "POST /settings/team/disable",
    "POST /settings/team/enable",
    "POST /settings/team/link",
    "POST /settings/team/release-second-factor",
    "POST /settings/team/require-second-factor",
    "POST /settings/team/reset-second-factor",
    "POST /settings/team/role",
    "POST /settings/webhooks",
    "POST /settings/webhooks/delete",
    "POST /settings/webhooks/replay",
    "POST /settings/webhooks/rotate",
    "POST /settings/webhooks/test",
    "POST /stores/channels",
    "POST /stores/link",
    "POST /stores/test-token",
    "POST /stores/unlink"
  ]
}

/** Files that browsers load have a hash in their names. */
const plain = (name: string) => name.replace(/(\/assets\/\w+)[-.\w]*(\.\w+)$/, "$1$2")

const refusedTitle = "Your role does not allow this"
const ids = "0b7c1c62-8a51-4c2b-9d0e-6f1f4a1f9b12"

/** A browser for each role, all of the same account. */
const browsersOf = (accountId: Parameters<typeof aBrowser>[0]) =>
  Effect.map(
    Effect.forEach(Role.literals, (role) => aBrowser(accountId, `${role}-${accountId}@example.com`, role)),
    (browsers) => Role.literals.map((role, index) => ({ role, cookie: browsers[index]?.cookie ?? "" }))
  )

const tokenIn = (cookie: string) => cookie.split("=")[1] ?? ""

const attributeOf = (tag: string, name: string) =>
  new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]?.replaceAll("&amp;", "&")

/** The requests that the links, forms and buttons of a page send. */
const requestsOf = (html: string) => [
  ...[...html.matchAll(/<a\s[^>]*>/g)].map(([tag]) => ({ method: "GET", target: attributeOf(tag, "href") })),
  ...[...html.matchAll(/<form\s[^>]*>/g)].map(([tag]) => ({
    method: (attributeOf(tag, "method") ?? "get").toUpperCase(),
    target: attributeOf(tag, "action")
  })),
  ...[...html.matchAll(/<button\s[^>]*formaction[^>]*>/g)].map(([tag]) => ({
    method: "POST",
    target: attributeOf(tag, "formaction")
  }))
]

const table = makeRouteTable(routes)

/** The routes that a page links to and that need a role. */
const offeredBy = (html: string) =>
  requestsOf(html).flatMap(({ method, target = "" }) => {
    const route = target.startsWith("/") ? table.find(target.split(/[?#]/)[0] ?? "")?.get(method) : undefined
    return route?.needs === undefined || route.needs === "open" ? [] : [{ name: nameOf(route), needs: route.needs }]
  })

layer(PagesServer, { excludeTestServices: true })("roles on the pages", (it) => {
  it.effect("every route states its role", () =>
    Effect.sync(() => {
      const decided = Object.entries(decisions).flatMap(([needs, names]) => names.map((name) => [name, needs] as const))
      assert.deepStrictEqual<unknown>(
        Object.fromEntries(routes.map((route) => [plain(nameOf(route)), route.needs])),
        Object.fromEntries(decided)
      )
    })
  )

  it.effect("each role can use the routes that it includes, and no other", () =>
    Effect.gen(function* () {
      const { accountId } = yield* aMerchant
      const browsers = yield* browsersOf(accountId)
      let [refused, allowed] = [0, 0]
      for (const route of routes) {
        const { method, needs, path } = route
        if (needs === undefined || needs === "open") continue
        for (const { cookie, role } of browsers) {
          const answer = yield* ask(path.replace(/:\w+/g, ids), {
            cookie,
            ...(method === "POST" && { form: { csrf: csrfOf(tokenIn(cookie)) } })
          })
          const where = `${nameOf(route)} as ${role}`
          const isRefused = answer.status === 403 && answer.text.includes(`<h1>${refusedTitle}</h1>`)
          assert.strictEqual(isRefused, !includesRole(role, needs), where)
          assert.notInclude(
            [500, 303].includes(answer.status) ? String(answer.headers.get("location")) : "",
            "/sign-in",
            where
          )
          assert.notStrictEqual(answer.status, 500, where)
          if (isRefused) refused++
          else allowed++
        }
      }
      const closed = Object.entries(decisions).filter(([needs]) => needs !== "open")
      assert.strictEqual(refused + allowed, closed.flatMap(([, names]) => names).length * 4)
      assert.isAtLeast(refused, 50)
    })
  )

  it.effect("pages offer only what the role allows", () =>
    Effect.gen(function* () {
      const merchant = yield* aMerchant
      const { accountId, cookie, shop, stove } = merchant
      yield* aFailure(merchant)
      yield* aConnection(cookie)
      const connections = yield* ask("/settings/connections", { cookie })
      const connection = /\/settings\/connections\/[0-9a-f-]{36}/.exec(connections.text)?.[0] ?? assert.fail()
      const browsers = yield* browsersOf(accountId)
      const seen = new Map<Role, Set<string>>(Role.literals.map((role) => [role, new Set<string>()]))
      const look = (path: string) =>
        Effect.forEach(browsers, ({ cookie, role }) =>
          Effect.map(ask(path, { cookie }), (answer) => {
            if (answer.status !== 200) return
            for (const { name, needs } of offeredBy(answer.text)) {
              assert.isTrue(includesRole(role, needs), `${path} offers ${name} to the role ${role}`)
              seen.get(role)?.add(name)
            }
          })
        )
      const everywhere = [
        "/",
        ...["/products", "/variants", "/collections", "/media", "/imports", "/stores", "/drops", "/drops/new", "/jobs"],
        ...["/data-health", "/data-health/issues?section=completeness-required", "/settings/connections", connection],
        ...["/settings/keys", "/settings/webhooks", "/settings/team", "/settings/profile", "/settings/second-factor"],
        ...[`/stores/publish?id=${shop.id}`, `/entity/review?id=${stove}`],
        ...[`/entity?id=${stove}`, `/entity?id=${stove}&edit=title`, `/entity?id=${stove}&edit=vendor&store=${shop.id}`]
      ]
      for (const path of everywhere) yield* look(path)
      const review = yield* aReview(merchant)
      for (const path of ["/", "/imports", `/import?id=${review}`, "/stores"]) yield* look(path)
      for (const path of ["/nowhere", "/entity?id=x"]) yield* look(path)
      const count = (role: Role) => seen.get(role)?.size ?? 0
      // The highest role sees these forms, so their absence for other roles is significant.
      for (const name of [
        ...["POST /entity/edit", "POST /entity/publish", "POST /stores/publish", "POST /stores/publish-selected"],
        ...[
          "POST /import/accept",
          "POST /import/decide",
          "POST /import/discard",
          "POST /imports",
          "POST /stores/refresh"
        ],
        ...["POST /data-health/scan", "POST /drops/new", "GET /settings/connections/undo", "POST /settings/keys"]
      ])
        assert.include([...(seen.get("admin") ?? [])], name)
      assert.include([...(seen.get("edit") ?? [])], "POST /entity/edit")
      assert.include([...(seen.get("publish") ?? [])], "POST /entity/publish")
      assert.isBelow(count("view"), count("edit"))
      assert.isBelow(count("edit"), count("publish"))
      assert.isBelow(count("publish"), count("admin"))
    })
  )

  it.effect("a form that the role no longer allows is refused, and keeps what was typed", () =>
    Effect.gen(function* () {
      const users = yield* Users
      const { accountId, stove } = yield* aMerchant
      const { cookie } = yield* aBrowser(accountId, `writer-${accountId}@example.com`, "edit")
      const csrf = csrfOf(tokenIn(cookie))
      const form = { csrf, id: stove, key: "title", value: "A stove <for> two", revision: "1", digest: "0".repeat(64) }
      yield* Effect.orDie(users.setRole(accountId, `writer-${accountId}@example.com`, "view"))
      const refused = yield* ask("/entity/edit", { cookie, form })
      assertErrorPage(refused, 403, /<h1>Your role does not allow this<\/h1>/)
      assert.include(
        textOf(refused),
        "This needs the role Edit. Yours is View. An administrator of the account can change it on the page Team."
      )
      assert.match(refused.text, /<textarea readOnly[^>]*>A stove &lt;for> two<\/textarea>/i)
      assert.notInclude(refused.text, csrf)
      // A GET has no typed values to keep, and a form from another site is not shown again.
      assertRefusal(yield* ask("/settings/keys", { cookie }), 403, {
        title: refusedTitle,
        message:
          "This needs the role Administrator. Yours is View. An administrator of the account can change it on the page Team.",
        next: ["/", "To the start page"]
      })
      const foreign = yield* ask("/entity/edit", { cookie, form: { ...form, csrf: "x" } })
      assert.strictEqual(foreign.status, 403)
      assert.notInclude(foreign.text, "A stove")
      yield* Effect.orDie(users.setRole(accountId, `writer-${accountId}@example.com`, "edit"))
      assert.notStrictEqual((yield* ask("/entity/edit", { cookie, form })).status, 403)
    })
  )

  it.effect(
    "the page of a refused form repeats no secrets, and each password input has a name that it leaves out",
    () =>
      Effect.gen(function* () {
        const { accountId } = yield* aMerchant
        const { cookie } = yield* aBrowser(accountId, `viewer-${accountId}@example.com`, "view")
        const secrets = { password: "the next one", current: "the present one", "credential-token": "shpat_7a" }
        const form = { csrf: csrfOf(tokenIn(cookie)), domain: "tern.example", ...secrets }
        const refused = yield* ask("/stores/link", { cookie, form })
        assertErrorPage(refused, 403, />tern\.example<\/textarea>/)
        for (const secret of Object.values(secrets)) assert.notInclude(refused.text, secret)
        const sources = new URL("../../src/console/", import.meta.url)
        const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name))
        assert.deepStrictEqual(
          files.filter((name) => /type[=:]\s*"password"/.test(readFileSync(new URL(name, sources), "utf8"))),
          ["Fields.ts"]
        )
      })
  )

  it.effect("users end the connections that they allowed, administrators end any", () =>
    Effect.gen(function* () {
      const { accountId, cookie } = yield* aMerchant
      const viewer = yield* aBrowser(accountId, `viewer-${accountId}@example.com`, "view")
      yield* aConnection(cookie, "pim:read", "Of the administrator")
      yield* aConnection(viewer.cookie, "pim:read", "Of the viewer")
      const idIn = (html: string, name: string) =>
        new RegExp(`name="id" value="([0-9a-f-]{36})"/><button[^>]*aria-label="Disconnect ${name}"`).exec(html)?.[1]
      const shown = yield* ask("/settings/connections", { cookie: viewer.cookie })
      const own = idIn(shown.text, "Of the viewer") ?? assert.fail(shown.text)
      assert.isUndefined(idIn(shown.text, "Of the administrator"))
      const all = yield* ask("/settings/connections", { cookie })
      const other = idIn(all.text, "Of the administrator") ?? assert.fail(all.text)
      const csrf = csrfOf(tokenIn(viewer.cookie))
      const refusal = {
        title: "Not allowed",
        message: "Somebody else allowed this agent. Only they and administrators of the account can disconnect it.",
        next: ["/settings/connections", "To the agents"] as const
      }
      const path = "/settings/connections/disconnect"
      assertRefusal(yield* ask(path, { cookie: viewer.cookie, form: { csrf, id: other } }), 403, refusal)
      assertRefusal(yield* ask(`${path}?id=${other}`, { cookie: viewer.cookie }), 403, refusal)
      assert.strictEqual((yield* ask(path, { cookie: viewer.cookie, form: { csrf, id: own } })).status, 303)
      const left = yield* ask("/settings/connections", { cookie })
      assert.isUndefined(idIn(left.text, "Of the viewer"))
      assert.isDefined(idIn(left.text, "Of the administrator"))
    })
  )
})
