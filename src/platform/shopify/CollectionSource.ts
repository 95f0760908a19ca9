/** Title of the collection source that we manage. Members are added and removed only there; other sources do not change. */
export const sourceTitle = "Catalog"
