import { randomUUID } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Layer, Option, Schedule } from "effect"
import { CatalogRepo } from "../../src/catalog/CatalogRepo.ts"
import { OutsideNetwork } from "../../src/connections/OutsideRequest.ts"
import { makePictureAddress } from "../../src/console/pictures/PictureAddresses.ts"
import { fetchPicture, imageTypeOf, maxPictureBytes } from "../../src/console/pictures/PictureFetch.ts"
import { DrawnPictures, Pictures } from "../../src/console/pictures/Pictures.ts"
import { drawDemoPicture } from "../../src/demo/DemoPictures.ts"
import { AccountId } from "../../src/model/Ids.ts"
import { layerDemoShopsMemory } from "../../src/platform/demo/DemoShops.memory.ts"
import { layerOfflinePlatforms } from "../../src/platform/Platforms.ts"
import { addressAt, makeDocumentHost, publicAddress } from "../oauth/DocumentHost.ts"

const png = Buffer.concat([Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]), Buffer.from("rest")])
const key = new Uint8Array(32).fill(7)

const accountId = AccountId.make(randomUUID())
const otherId = AccountId.make(randomUUID())

const layerPictures = Pictures.layer.pipe(
  Layer.provide(Layer.succeed(DrawnPictures, drawDemoPicture)),
  Layer.provide(Layer.mock(CatalogRepo, { cursorKey: Effect.succeed(key) })),
  Layer.provide(layerOfflinePlatforms.pipe(Layer.provide(layerDemoShopsMemory)))
)

const from = (host: Effect.Effect.Success<typeof makeDocumentHost>) => (address: string) =>
  fetchPicture(address).pipe(
    Effect.provideService(OutsideNetwork, host.network),
    Effect.mapError(({ why }) => why),
    Effect.either
  )

describe("pictures of media", () => {
  it.scopedLive("are images of at most 10 MB at public addresses, over https, also after redirects", () =>
    Effect.gen(function* () {
      const host = yield* makeDocumentHost
      const { addresses, answers, dialled } = host
      const read = from(host)
      addresses.set("private.example", ["10.0.0.1"])
      addresses.set("mixed.example", [publicAddress, "127.0.0.1"])
      answers.set("/a.png", { body: png })
      answers.set("/page", { body: "<!doctype html>" })
      answers.set("/drawing.svg", { body: '<svg xmlns="http://www.w3.org/2000/svg"/>' })
      answers.set("/large.png", { body: Buffer.concat([png, Buffer.alloc(maxPictureBytes)]) })
      for (const [path, location] of [
        ["/moved", "/a.png"],
        ["/inside", "https://private.example/a.png"],
        ["/plain", "http://agent.example/a.png"],
        ["/circle", "/circle"]
      ] as const)
        answers.set(path, { status: 302, headers: { location } })
      assert.deepStrictEqual(yield* read(addressAt("/a.png")), Either.right({ bytes: png, type: "image/png" }))
      assert.deepStrictEqual(yield* read(addressAt("/moved")), Either.right({ bytes: png, type: "image/png" }))
      const before = dialled.length
      for (const [address, why] of [
        ["no address", "its address is not a URL"],
        ["http://agent.example/a.png", "its address is not https"],
        ["https://me:secret@agent.example/a.png", "its address is not https"],
        ["https://agent.example:444/a.png", "its address is not https"],
        ["file:///etc/passwd", "its address is not https"],
        ["https://nowhere.example/a.png", "its host has no address"],
        ["https://private.example/a.png", "its host has no public address"],
        ["https://mixed.example/a.png", "its host has no public address"]
      ] as const)
        assert.deepStrictEqual(yield* read(address), Either.left(why), address)
      assert.strictEqual(dialled.length, before)
      for (const [path, why] of [
        ["/page", "it is not an image"],
        ["/drawing.svg", "it is not an image"],
        ["/large.png", "it is larger than 10 MB"],
        ["/missing.png", "its host answered 404"],
        ["/inside", "its host has no public address"],
        ["/plain", "its address is not https"],
        ["/circle", "its host redirects too often"]
      ] as const)
        assert.deepStrictEqual(yield* read(addressAt(path)), Either.left(why), path)
    })
  )

  it("are recognized by their content", () => {
    for (const [text, type] of [
      ["\xff\xd8\xff\xe0", "image/jpeg"],
      ["GIF89a", "image/gif"],
      ["RIFF1234WEBPVP8 ", "image/webp"],
      ["\0\0\0\x20ftypavif", "image/avif"],
      ["<svg", undefined],
      ["", undefined]
    ] as const)
      assert.strictEqual(imageTypeOf(Buffer.from(text, "latin1")), type)
  })

  it.scopedLive("are served only at signed addresses, fetched once, and cached", () =>
    Effect.gen(function* () {
      const host = yield* makeDocumentHost
      host.answers.set("/a.png", { body: png })
      yield* Effect.gen(function* () {
        const { addressesFor, read } = yield* Pictures
        const addressOf = addressesFor(accountId)
        const path = addressOf(addressAt("/a.png"), 40)
        const answers = yield* Effect.all(
          Array.from({ length: 5 }, () => read(path)),
          { concurrency: "unbounded" }
        )
        for (const answer of [...answers, yield* read(path)])
          assert.deepStrictEqual(Option.getOrThrow(answer).bytes.length, png.length)
        assert.deepStrictEqual(host.requested, ["/a.png"])
        const missing = addressOf(addressAt("/missing.png"), 80)
        for (let time = 0; time < 3; time++) assert.isTrue(Option.isNone(yield* read(missing)))
        assert.deepStrictEqual(host.requested, ["/a.png", "/missing.png"])
        const forged = [
          path.replace("/40/", "/80/"),
          path.slice(0, -2),
          path.replace(/[^/](?=[^/]*$)/, (first) => (first === "A" ? "B" : "A")),
          path.replace(accountId, otherId),
          makePictureAddress(new Uint8Array(32), accountId)(addressAt("/a.png"), 40),
          "/pictures/40/x/y",
          "/pictures/40/x/y/z"
        ]
        for (const each of forged) assert.strictEqual(yield* Effect.flip(read(each)), "NoSuchPicture", each)
        const drawn = yield* read(addressOf("https://cdn.demo.example/tarn-and-tern/kestrel-20.jpg", 80))
        assert.match(Buffer.from(Option.getOrThrow(drawn).bytes).toString(), /^<svg [^>]*>.*<\/svg>$/)
      }).pipe(Effect.provide(layerPictures), Effect.provideService(OutsideNetwork, host.network))
    })
  )

  it.scopedLive("of one account on slow hosts do not delay the pictures of another", () =>
    Effect.gen(function* () {
      const host = yield* makeDocumentHost
      const slow = Array.from({ length: 20 }, (_, index) => `/slow-${index}.png`)
      for (const path of slow) host.answers.set(path, { stalls: true })
      host.answers.set("/a.png", { body: png })
      yield* Effect.gen(function* () {
        const { addressesFor, read } = yield* Pictures
        yield* Effect.forEach(slow, (path) => Effect.forkScoped(read(addressesFor(accountId)(addressAt(path), 40))))
        yield* Effect.repeat(Effect.void, {
          until: () => host.requested.length >= 4,
          schedule: Schedule.spaced("2 millis")
        })
        // Also a picture that the other account's pages wait for.
        for (const path of ["/a.png", slow[19] ?? ""]) {
          host.answers.set(path, { body: png })
          assert.isTrue(Option.isSome(yield* read(addressesFor(otherId)(addressAt(path), 40))), path)
        }
        assert.sameMembers(host.requested, [...slow.slice(0, 4), "/a.png", slow[19] ?? ""])
      }).pipe(Effect.provide(layerPictures), Effect.provideService(OutsideNetwork, host.network))
    })
  )

  it("of the demo differ by product, and are the same each time", () => {
    const draw = (path: string) => drawDemoPicture(new URL(`https://cdn.demo.example/tarn-and-tern/${path}`))
    assert.strictEqual(draw("kestrel-20.jpg"), draw("kestrel-20.jpg"))
    assert.notStrictEqual(draw("kestrel-20.jpg"), draw("bothy-1.jpg"))
    assert.isUndefined(drawDemoPicture(new URL("https://cdn.other.example/kestrel-20.jpg")))
  })
})
