import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { Users } from "../../src/access/Users.ts"
import { Connections } from "../../src/connections/Connections.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { anAccount } from "../../src/testing/index.ts"
import { aClient, authorizePath, newVerifier, PagesServer, redeem, tokensOf } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, aCallback, assertAccessible, assertNoComplaints, openWindow } from "./PlaywrightBrowser.ts"

const password = "tern over tarn 1"

/** A user of a new account, and the link with which they set a password. */
const aPerson = (email: string) =>
  Effect.gen(function* () {
    const { accountId } = yield* anAccount({ name: "Tarn & Tern" })
    const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email))
    return { accountId, email, link: `${yield* BaseUrl}/set-password?token=${Redacted.value(token)}` }
  })

const opens = (token: string) =>
  Effect.gen(function* () {
    const resource = `${yield* BaseUrl}/mcp`
    return Option.isSome(yield* (yield* Connections).authenticate(token, resource))
  })

describe.skipIf(!chromiumIsThere)("the pages in Chromium", () => {
  layer(PagesServer, { excludeTestServices: true })((it) => {
    it.scoped("a merchant sets a password, signs in, makes and revokes a key", () =>
      Effect.gen(function* () {
        const base = yield* BaseUrl
        const { email, link } = yield* aPerson("ada@example.com")
        const { complaints, page } = yield* openWindow(yield* aBrowserProgram)
        yield* Effect.promise(async () => {
          await page.goto(link)
          await assertAccessible(page, "set-password")
          await page.getByLabel("New password").fill(password)
          await page.getByRole("button", { name: "Set password and sign in" }).click()
          assert.strictEqual(page.url(), `${base}/`)
          await page.goto(`${base}/settings/connections`)
          await assertAccessible(page, "connections-none")
          await page.getByRole("button", { name: "Sign out" }).click()
          assert.strictEqual(
            page.url(),
            `${base}/settings/connections`.replace("/settings/connections", "/sign-in?return_to=%2F")
          )

          await page.goto(`${base}/settings/keys`)
          await assertAccessible(page, "sign-in")
          await page.getByLabel("E-mail").fill(email)
          await page.getByLabel("Password").fill("not the password")
          await page.getByRole("button", { name: "Sign in" }).click()
          assert.strictEqual(await page.getByRole("alert").textContent(), "E-mail or password is wrong.")
          await assertAccessible(page, "sign-in-refused")
          await page.getByLabel("Password").fill(password)
          await page.getByRole("button", { name: "Sign in" }).click()
          assert.strictEqual(page.url(), `${base}/settings/keys`)

          await page.getByLabel("Name").fill("Warehouse")
          await page.getByLabel("Read and write").check()
          await page.getByRole("button", { name: "Create key" }).click()
          const key = String(await page.getByLabel("Key (shown only once)").inputValue())
          assert.match(key, /^pk_live_/)
          await assertAccessible(page, "keys")
          const ping = () =>
            fetch(`${base}/api/v1/ping`, { headers: { authorization: `Bearer ${key}` } }).then(({ status }) => status)
          assert.strictEqual(await ping(), 200)
          await page.getByRole("button", { name: "Revoke the key Warehouse" }).click()
          await assertAccessible(page, "revoke")
          await page.getByRole("link", { name: "Cancel" }).click()
          assert.strictEqual(await ping(), 200)
          await page.getByRole("button", { name: "Revoke the key Warehouse" }).click()
          await page.getByRole("button", { name: "Revoke the key" }).click()
          assert.include(String(await page.getByRole("status").textContent()), "The key is revoked")
          assert.strictEqual(await ping(), 401)
          await page.reload()
          assert.strictEqual(await page.getByRole("status").count(), 0)
          await page.goto(`${base}/nowhere`)
          await assertAccessible(page, "nowhere")
          await page.goto(`${base}/oauth/authorize`)
          await assertAccessible(page, "error")
        })
        assertNoComplaints(complaints, 400, 403, 404)
      })
    )

    it.scoped(
      "a merchant signs in during the authorization, consents, and the policy of the page allows the redirect",
      () =>
        Effect.gen(function* () {
          const { accountId, email, link } = yield* aPerson("grace@example.com")
          const callback = yield* aCallback
          const browser = yield* aBrowserProgram
          const { page } = yield* openWindow(browser)
          const base = yield* BaseUrl
          const verifier = newVerifier()
          const clientId = yield* aClient({ client_name: "Desk Agent", redirect_uris: [callback.url] })
          const target = authorizePath({
            clientId,
            verifier,
            with: { redirect_uri: callback.url, scope: "pim:write", state: "a b&c" }
          })
          const code = yield* Effect.promise(async () => {
            await page.goto(link)
            await page.getByLabel("New password").fill(password)
            await page.getByRole("button", { name: "Set password and sign in" }).click()
            await page.getByRole("button", { name: "Sign out" }).click()

            await page.goto(`${base}${target}`)
            await page.getByLabel("E-mail").fill(email)
            await page.getByLabel("Password").fill(password)
            await page.getByRole("button", { name: "Sign in" }).click()
            assert.strictEqual(page.url(), `${base}${target}`)
            assert.strictEqual(await page.getByRole("heading", { level: 1 }).textContent(), "Connect Desk Agent?")
            // The tier that the client requested.
            assert.isTrue(await page.getByRole("radio", { name: /^Read and edit/ }).isChecked())
            await assertAccessible(page, "consent")
            // With the keyboard only.
            await page.getByRole("radio", { name: /^Read and edit/ }).focus()
            await page.keyboard.press("ArrowUp")
            assert.isTrue(await page.getByRole("radio", { name: /^Read See/ }).isChecked())
            await page.keyboard.press("ArrowDown")
            assert.isTrue(await page.getByRole("radio", { name: /^Read and edit/ }).isChecked())
            await page.keyboard.press("Tab")
            await page.keyboard.press("Enter")
            await page.waitForURL(`${callback.url}?**`)
            assert.strictEqual(await page.getByRole("heading").textContent(), "Done")
            const parameters = Object.fromEntries(callback.received[0]?.searchParams ?? [])
            assert.deepInclude(parameters, { state: "a b&c", iss: base })
            // After the Back button the page cannot be used again.
            return String(parameters.code)
          })
          assert.lengthOf(callback.received, 1)
          const tokens = tokensOf(yield* redeem({ clientId, verifier }, code, { redirect_uri: callback.url }))
          assert.strictEqual(tokens.scope, "pim:read pim:write")
          assert.isTrue(yield* opens(tokens.access))
          yield* Effect.promise(async () => {
            await page.goto(`${base}/settings/connections`)
            await assertAccessible(page, "connections")
            await page.getByRole("button", { name: "Disconnect Desk Agent" }).click()
            await page.getByRole("button", { name: "Disconnect" }).click()
            assert.include(String(await page.getByRole("status").textContent()), "The connection is ended")
            await assertAccessible(page, "connections-ended")
          })
          assert.isFalse(yield* opens(tokens.access))
          assert.lengthOf(yield* (yield* Connections).list(accountId), 1)
        })
    )

    it.scoped("everything works without JavaScript, and Deny reaches the client", () =>
      Effect.gen(function* () {
        const { link } = yield* aPerson("joan@example.com")
        const callback = yield* aCallback
        const { page } = yield* openWindow(yield* aBrowserProgram, { javaScriptEnabled: false })
        const base = yield* BaseUrl
        const clientId = yield* aClient({ client_name: "Desk Agent", redirect_uris: [callback.url] })
        const with_ = { redirect_uri: callback.url }
        const target = authorizePath({ clientId, verifier: newVerifier(), with: with_ })
        yield* Effect.promise(async () => {
          await page.goto(link)
          await page.getByLabel("New password").fill(password)
          await page.getByRole("button", { name: "Set password and sign in" }).click()
          await page.goto(`${base}/settings/keys`)
          await page.getByLabel("Name").fill("Plain")
          await page.getByRole("button", { name: "Create key" }).click()
          assert.match(String(await page.getByLabel("Key (shown only once)").inputValue()), /^pk_live_/)
          await page.goto(`${base}${target}`)
          await page.getByRole("button", { name: "Deny" }).click()
          await page.waitForURL(`${callback.url}?**`)
        })
        assert.strictEqual(callback.received[0]?.searchParams.get("error"), "access_denied")
      })
    )
  })
})
