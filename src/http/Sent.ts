import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import type { JsonText } from "../model/JsonText.ts"

/** Sends JSON that was built where it was read, as bytes: its tag, its length and the socket would each encode the text. */
export const sent = <A, E, R>(page: Effect.Effect<JsonText<A>, E, R>) =>
  Effect.map(page, ({ text }) => HttpServerResponse.raw(Buffer.from(text), { contentType: "application/json" }))
