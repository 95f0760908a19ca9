import pg from "pg"

/** The same maximum number of connections as the service. */
export const openPool = (name: string): pg.Pool =>
  new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, application_name: name })
