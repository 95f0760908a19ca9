import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Secret, TOTP } from "otpauth"
import { Users } from "../../src/access/Users.ts"
import { BaseUrl } from "../../src/http/BaseUrl.ts"
import { SecretKeySource } from "../../src/stores/SecretBox.ts"
import { anAccount } from "../../src/testing/index.ts"
import { pagesServer } from "../oauth/PagesServer.ts"
import { chromiumIsThere } from "./Chromium.ts"
import { aBrowserProgram, assertAccessible, assertNoComplaints, openWindow } from "./PlaywrightBrowser.ts"

const password = "tern over tarn 1"

const Served = pagesServer().pipe(
  Layer.provide(Layer.succeed(SecretKeySource, { _tag: "Setting", key: Redacted.make("ab".repeat(32)) }))
)

describe.skipIf(!chromiumIsThere)("team and profile in Chromium", () => {
  layer(Served, { excludeTestServices: true })((it) => {
    for (const javaScriptEnabled of [true, false])
      it.scoped(
        `an administrator invites, a colleague sets up a second factor, JavaScript ${javaScriptEnabled ? "on" : "off"}`,
        () =>
          Effect.gen(function* () {
            const base = yield* BaseUrl
            const email = `owner-${javaScriptEnabled}@example.com`
            const { accountId } = yield* anAccount({ name: "Tarn & Tern" })
            const { token } = yield* Effect.orDie((yield* Users).invite(accountId, email))
            const browser = yield* aBrowserProgram
            const { complaints, page } = yield* openWindow(browser)
            const other = yield* openWindow(browser, { javaScriptEnabled })
            yield* Effect.promise(async () => {
              await page.goto(`${base}/set-password?token=${Redacted.value(token)}`)
              await page.getByLabel("New password").fill(password)
              await page.getByRole("button", { name: "Set password and sign in" }).click()
              await page.getByRole("link", { name: "Team" }).first().click()
              await assertAccessible(page, "team")
              await page.getByLabel("E-mail").fill(email)
              await page.getByRole("radio", { name: "Publish" }).check()
              await page.getByRole("button", { name: "Invite", exact: true }).click()
              await assertAccessible(page, "team-misfit")
              const field = page.getByLabel("E-mail")
              assert.strictEqual(await field.inputValue(), email)
              await page.locator("[name=email]:focus").waitFor()
              await field.fill(`colleague-${javaScriptEnabled}@example.com`)
              await page.getByRole("button", { name: "Invite", exact: true }).click()
              await assertAccessible(page, "team-invited")
              assert.strictEqual(await page.getByRole("button", { name: "Copy" }).count(), 1)
              const link = await page.getByLabel("Link (shown only once)").inputValue()
              await page.getByRole("button", { name: /^Cancel invitation/ }).click()
              await assertAccessible(page, "team-cancel")

              const theirs = other.page
              await theirs.goto(link)
              await theirs.getByLabel("New password").fill(password)
              await theirs.getByRole("button", { name: "Set password and sign in" }).click()
              assert.strictEqual(await theirs.getByRole("link", { name: "Team" }).count(), 0)
              await theirs.getByRole("link", { name: "Profile" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "profile")
              await theirs.getByRole("combobox", { name: "Time zone" }).selectOption("Europe/Berlin")
              await theirs.getByRole("button", { name: "Save" }).click()
              assert.include(String(await theirs.locator("time").first().textContent()), "Europe/Berlin")
              const factor = theirs.getByRole("region", { name: "Second factor" })
              await factor.getByLabel("Current password").fill(password)
              await factor.getByRole("button", { name: "Set up an authenticator app" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "second-factor")
              assert.strictEqual(await theirs.getByRole("button", { name: "Copy" }).count(), javaScriptEnabled ? 2 : 0)
              const secret = await theirs.getByRole("textbox", { name: "Secret" }).inputValue()
              await theirs.getByRole("textbox", { name: "Code" }).fill("000000")
              await theirs.getByRole("button", { name: "Confirm" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "second-factor-wrong")
              const totp = new TOTP({ algorithm: "SHA1", digits: 6, period: 30, secret: Secret.fromBase32(secret) })
              await theirs.getByRole("textbox", { name: "Code" }).fill(totp.generate())
              await theirs.getByRole("button", { name: "Confirm" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "recovery-codes")
              const replaced = (await theirs.locator("ul.codes code").first().textContent()) ?? ""
              await theirs.getByRole("link", { name: "To the profile" }).click()
              await theirs.getByRole("textbox", { name: "Code" }).fill("000000")
              await theirs.getByRole("button", { name: "Make new recovery codes" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "recovery-codes-refused")
              await theirs.getByRole("textbox", { name: "Code" }).fill(replaced)
              await theirs.getByRole("button", { name: "Make new recovery codes" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "recovery-codes-renewed")
              await theirs.waitForLoadState("load")
              const recovery = (await theirs.locator("ul.codes code").first().textContent()) ?? ""
              await theirs.getByRole("button", { name: "Sign out" }).click()
              await theirs.getByLabel("E-mail").fill(`colleague-${javaScriptEnabled}@example.com`)
              await theirs.getByLabel("Password").fill(password)
              await theirs.getByRole("button", { name: "Sign in" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "sign-in-code")
              await theirs.getByRole("textbox", { name: "Code" }).fill("000000")
              await theirs.getByRole("button", { name: "Sign in" }).click()
              if (javaScriptEnabled) await assertAccessible(theirs, "sign-in-code-wrong")
              await theirs.getByRole("textbox", { name: "Code" }).fill(recovery)
              await theirs.getByRole("button", { name: "Sign in" }).click()
              assert.strictEqual(await theirs.getByRole("heading", { level: 1 }).textContent(), "Home")
              await theirs.goto(`${base}/settings/keys`)
              if (javaScriptEnabled) await assertAccessible(theirs, "role-refused")
              await theirs.goto(`${base}/forgot-password`)
              if (javaScriptEnabled) await assertAccessible(theirs, "forgot-password")
              await page.goto(`${base}/settings/team`)
              await assertAccessible(page, "team-of-two")
            })
            assertNoComplaints([...complaints, ...other.complaints], 400, 403)
          })
      )
  })
})
