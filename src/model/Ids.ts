import { Schema } from "effect"

/** The UUID that no record bears. */
export const nilUuid = "00000000-0000-0000-0000-000000000000"

/** A UUID in its canonical, lower-case form. */
const Uuid = Schema.String.annotations({ jsonSchema: { type: "string", format: "uuid" } }).pipe(
  Schema.pattern(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, {
    jsonSchema: { format: "uuid" },
    message: () => "must be a UUID"
  })
)

export const AccountId = Uuid.pipe(Schema.brand("AccountId"))
export type AccountId = typeof AccountId.Type

/** Id of a product, variant, collection or media file. */
export const EntityId = Uuid.pipe(Schema.brand("EntityId"))
export type EntityId = typeof EntityId.Type

export const StoreId = Uuid.pipe(Schema.brand("StoreId"))
export type StoreId = typeof StoreId.Type

export const ApiKeyId = Uuid.pipe(Schema.brand("ApiKeyId"))
export type ApiKeyId = typeof ApiKeyId.Type

/** Id of a publish that was asked for. */
export const PublicationId = Uuid.pipe(Schema.brand("PublicationId"))
export type PublicationId = typeof PublicationId.Type

export const ImportId = Uuid.pipe(Schema.brand("ImportId"))
export type ImportId = typeof ImportId.Type

/** Id of somebody who signs in to the pages. */
export const UserId = Uuid.pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

/** Id of what an agent was granted. */
export const ConnectionId = Uuid.pipe(Schema.brand("ConnectionId"))
export type ConnectionId = typeof ConnectionId.Type

/** Id of a program that registered itself to ask for connections. */
export const ClientId = Uuid.pipe(Schema.brand("ClientId"))
export type ClientId = typeof ClientId.Type

/** Id of a question to the merchant whether to connect a client. */
export const ConsentId = Uuid.pipe(Schema.brand("ConsentId"))
export type ConsentId = typeof ConsentId.Type

/** An id as somebody else may write it: letters of any case. */
export const inAnyCase = <A extends string>(id: Schema.Schema<A, string>): Schema.Schema<A, string> =>
  Schema.compose(Schema.Lowercase, id).annotations({ jsonSchema: { type: "string", format: "uuid" } })

/** Id of a market, of a metafield or metaobject definition, or of an entry of the latter. */
export const RecordId = Uuid.pipe(Schema.brand("RecordId"))
export type RecordId = typeof RecordId.Type
export const DropId = Uuid.pipe(Schema.brand("DropId"))
export type DropId = typeof DropId.Type
