/**
 * Units of metafields by type: the short name that Shopify documents, and the long name that its API returns in capitals. Volumes have
 * further names.
 */
const units = {
  dimension: { mm: "millimeters", cm: "centimeters", m: "meters", in: "inches", ft: "feet", yd: "yards" },
  weight: { g: "grams", kg: "kilograms", oz: "ounces", lb: "pounds" },
  volume: {
    ...{ ml: "milliliters", cl: "centiliters", l: "liters", m3: "cubic_meters" },
    ...{ us_fl_oz: "fluid_ounces", us_pt: "pints", us_qt: "quarts", us_gal: "gallons" },
    ...{ imp_fl_oz: "imperial_fluid_ounces", imp_pt: "imperial_pints" },
    ...{ imp_qt: "imperial_quarts", imp_gal: "imperial_gallons" }
  }
}

/** Types whose values have a number and a unit, as Shopify defines them: `{"value":25,"unit":"cm"}`. */
export const measurementTypes: ReadonlyArray<string> = [
  ...Object.keys(units),
  ...["antenna_gain", "area", "battery_charge_capacity", "battery_energy_capacity", "capacitance", "concentration"],
  ...["data_storage_capacity", "data_transfer_rate", "display_density", "distance", "duration", "electric_current"],
  ...["electrical_resistance", "energy", "frequency", "illuminance", "inductance", "luminous_flux", "mass_flow_rate"],
  ...["power", "pressure", "resolution", "rotational_speed", "sound_level", "speed", "temperature", "thermal_power"],
  ...["voltage", "volumetric_flow_rate"]
]

const longNames: ReadonlyMap<string, string> = new Map(Object.values(units).flatMap((names) => Object.entries(names)))

/** The short name of a unit, for any of its names in any case. A name that is not known is returned in lower case. */
export const unitOf = (name: string): string => {
  const lower = name.toLowerCase()
  return longNames.get(lower) ?? lower
}

const typesByUnit: ReadonlyMap<string, string> = new Map(
  Object.entries(units).flatMap(([type, names]) => Object.values(names).map((unit) => [unit, type] as const))
)

/** The type of measurements that have the unit. Undefined: the unit is not one of lengths, weights and volumes. */
export const typeOfUnit = (name: string): string | undefined => typesByUnit.get(unitOf(name))

/** The short names of all units of a type. Undefined: not all names are known, and a platform checks them. */
export const unitsOf = (type: string): ReadonlyArray<string> | undefined =>
  type === "dimension" || type === "weight" ? Object.keys(units[type]) : undefined
