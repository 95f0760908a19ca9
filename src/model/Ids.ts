import { Schema } from "effect"

/** The UUID that no record has. */
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

/** Id of a publish request. */
export const PublicationId = Uuid.pipe(Schema.brand("PublicationId"))
export type PublicationId = typeof PublicationId.Type

export const ImportId = Uuid.pipe(Schema.brand("ImportId"))
export type ImportId = typeof ImportId.Type

/** Id of an export that may count as published. */
export const ExportId = Uuid.pipe(Schema.brand("ExportId"))
export type ExportId = typeof ExportId.Type

export const UserId = Uuid.pipe(Schema.brand("UserId"))
export type UserId = typeof UserId.Type

/** Id of the connection of an agent (an OAuth grant). */
export const ConnectionId = Uuid.pipe(Schema.brand("ConnectionId"))
export type ConnectionId = typeof ConnectionId.Type

/** Id of an OAuth client: one that registered itself, or that has a metadata document. */
export const ClientId = Uuid.pipe(Schema.brand("ClientId"))
export type ClientId = typeof ClientId.Type

/** Id of a consent page, which asks a user to connect a client. */
export const ConsentId = Uuid.pipe(Schema.brand("ConsentId"))
export type ConsentId = typeof ConsentId.Type

/** A schema that accepts an id in upper or lower case, and decodes it to lower case. */
export const inAnyCase = <A extends string>(id: Schema.Schema<A, string>): Schema.Schema<A, string> =>
  Schema.compose(Schema.Lowercase, id).annotations({ jsonSchema: { type: "string", format: "uuid" } })

/** Id of a market, a metafield or metaobject definition, or a metaobject entry. */
export const RecordId = Uuid.pipe(Schema.brand("RecordId"))
export type RecordId = typeof RecordId.Type

export const DropId = Uuid.pipe(Schema.brand("DropId"))
export type DropId = typeof DropId.Type

export const JobId = Uuid.pipe(Schema.brand("JobId"))
export type JobId = typeof JobId.Type

export const WebhookId = Uuid.pipe(Schema.brand("WebhookId"))
export type WebhookId = typeof WebhookId.Type
