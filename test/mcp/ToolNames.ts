/** The 28 tools of the interface specification, by the tier that each needs. */
export const toolNames = {
  "pim:read": [
    "list_products_v1",
    "list_collections_v1",
    "list_variants_v1",
    "list_masters_v1",
    "get_master_v1",
    "get_master_with_projections_v1",
    "get_master_related_v1",
    "list_projections_v1",
    "get_projection_v1",
    "list_markets_v1",
    "get_market_v1",
    "list_metafield_definitions_v1",
    "list_metaobject_definitions_v1",
    "list_metaobject_entries_v1",
    "get_master_translations_v1",
    "list_store_sales_channels_v1",
    "get_master_sales_channels_v1",
    "list_drops_v1",
    "get_drop_v1",
    "list_master_drops_v1",
    "get_data_health_v1",
    "list_data_health_issues_v1"
  ],
  "pim:write": [
    "update_master_attributes_v1",
    "update_projection_attributes_v1",
    "run_data_health_scan_v1",
    "fill_completeness_gaps_v1",
    "reconcile_value_divergence_v1"
  ],
  "pim:publish": ["publish_master_v1"]
} as const

export const allToolNames: ReadonlyArray<string> = Object.values(toolNames).flat()
