"""Each guarantee of SECURITY.md has tests, and these tests exist."""

import ast
import re
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
TESTS = {  # by the first words of a guarantee
    "No content of a URDF is executed.": (
        "tests/urdf/test_urdf_documents.py::test_external_entities_are_neither_read_nor_expanded",
        "tests/urdf/test_urdf_documents.py::test_a_dtd_elsewhere_is_refused",
        "tests/urdf/test_resolve.py::test_what_a_url_lacks_is_told",
        "tests/urdf/test_resolve.py::test_a_mesh_of_a_network_address_is_not_looked_for",
        "tests/urdf/test_resolve.py::test_nothing_outside_of_a_package_is_looked_at",
    ),
    "xacro, which evaluates expressions": (
        "tests/urdf/test_urdf_documents.py::test_xacro_runs_on_other_names_only_when_it_is_asked_for",
        "tests/urdf/test_urdf_documents.py::test_an_open_file_that_is_named_xacro_is_not_read_again_from_the_disk",
    ),
    "For any content of a file": (
        "tests/system/test_input_files.py::test_pipes_devices_and_folders_are_told_and_not_waited_for",
        "tests/system/test_input_files.py::test_what_takes_the_place_of_a_file_after_the_check_is_refused",
        "tests/urdf/test_urdf_documents.py::test_a_robot_has_up_to_16_mib",
        "tests/meshes/test_reader.py::test_a_file_that_is_too_large_is_not_opened",
        "tests/meshes/test_limits.py::test_files_that_a_mesh_names_have_256_mib",
        "tests/formats/test_bounds.py::test_a_recording_has_up_to_64_gib",
        "tests/cli/test_states.py::test_a_file_with_a_state_has_up_to_64_mib",
        "tests/cli/test_sweep.py::test_what_is_wrong_with_a_policy_is_named",
        "tests/urdf/test_urdf_documents.py::test_a_robot_has_up_to_131072_elements",
        "tests/urdf/test_urdf_documents.py::test_an_element_has_up_to_100_attributes_and_a_robot_four_for_each_element",
        "tests/urdf/test_urdf_documents.py::test_a_robot_has_up_to_4_gib_of_meshes",
        "tests/model/test_hulls.py::test_a_file_is_read_once_whatever_the_scales_of_its_shapes",
        "tests/urdf/test_urdf_documents.py::test_xacro_is_run_when_it_is_installed",
        "tests/fuzz/test_urdf_fuzz.py::test_a_spoilt_robot_is_sound_or_refused",
        "tests/fuzz/test_urdf_fuzz.py::test_20000_spoilt_robots_are_sound_or_refused",
    ),
    "Public functions and classes": (
        "tests/test_constructors.py::test_what_is_given_is_taken_right_or_named",
        "tests/fuzz/test_option_sets.py::test_option_sets_of_the_day_are_computed_or_refused",
        "tests/fuzz/test_option_sets.py::test_many_option_sets_are_computed_or_refused",
        "tests/test_odd_arguments.py::test_what_does_not_fit_in_memory_is_refused_before_it_is_copied",
        "tests/test_odd_arguments.py::test_iterations_are_bounded",
        "tests/test_odd_arguments.py::test_messages_repeat_the_beginning_of_a_long_value",
        "tests/test_odd_arguments.py::test_raised_messages_quote_names_and_values_shortened",
    ),
    "A child process with limited time and memory": (
        "tests/meshes/test_reader.py::test_a_file_that_takes_too_long_is_given_up_and_the_next_one_is_read",
        "tests/meshes/test_reader.py::test_a_file_that_takes_too_much_memory_is_given_up",
        "tests/meshes/test_reader.py::test_a_child_process_reads_all_formats_but_binary_stl",
        "tests/meshes/test_reader.py::test_without_a_python_to_start_files_are_read_here",
        "tests/model/test_convex_parts.py::test_a_crash_of_coacd_and_its_time_limit_name_the_file",
        "tests/model/test_convex_parts.py::test_the_parts_of_meshes_used_last_are_stored",
        "tests/meshes/test_reader.py::test_archives_are_refused",
        "tests/meshes/test_reader.py::test_other_formats_are_refused_unread",
        "tests/meshes/test_reader.py::test_what_is_no_regular_file_is_not_opened",
        "tests/meshes/test_reader.py::test_hostile_files_are_refused",
        "tests/meshes/test_reader.py::test_coordinates_that_are_not_finite_are_refused",
        "tests/meshes/test_fuzz.py::test_damaged_files",
        "tests/meshes/test_images.py::test_images_are_not_decoded_in_this_process",
        "tests/meshes/test_images.py::test_a_broken_image_is_told_and_the_mesh_is_read",
        "tests/meshes/test_limits.py::test_images_have_67_million_pixels",
        "tests/meshes/test_images.py::test_what_an_image_holds_besides_pixels_is_left_out",
    ),
    "Materials and images": (
        "tests/meshes/test_images.py::test_images_outside_are_not_read",
        "tests/meshes/test_images.py::test_images_are_found_within_the_package",
    ),
    "A changed recording": (
        "tests/fuzz/test_recordings_fuzz.py::test_changed_recipes_are_repeated_or_refused",
        "tests/fuzz/test_recordings_fuzz.py::test_changed_descriptions_are_loaded_or_refused",
        "tests/fuzz/test_recordings_fuzz.py::test_2000_spoilt_files_of_each_format_are_loaded_or_refused",
        "tests/formats/test_hostile.py::test_small_files_take_little_memory_whatever_they_announce",
        "tests/formats/test_hostile.py::test_arrays_of_other_types_are_refused",
        "tests/rollouts/test_replay.py::test_a_recording_of_few_states_is_not_repeated_for_long",
        "tests/formats/test_damage.py::test_a_flipped_bit_is_found_or_changes_nothing",
    ),
    "`replay` opens no file": (
        "tests/rollouts/test_replay.py::test_no_file_is_opened_or_looked_for_that_a_recording_names",
    ),
    "Opening, summarizing and resuming a store": (
        "tests/sweeps/test_store.py::test_nothing_of_a_stores_program_runs_unless_it_is_asked_for",
        "tests/sweeps/test_store.py::test_a_program_that_is_not_the_stores_is_refused_and_not_run",
        "tests/sweeps/test_store.py::test_workers_get_the_plan_of_the_call_whatever_bytes_the_stores_has",
        "tests/sweeps/test_workers.py::test_a_worker_loads_no_program_of_another_digest",
        "tests/sweeps/test_store.py::test_damaged_files_never_tell_what_is_wrong",
    ),
    "A sweep removes no files of others": (
        "tests/sweeps/test_store.py::test_nothing_is_removed_that_another_made",
        "tests/system/test_files.py::test_temporary_files_of_processes_that_ended_are_removed",
        "tests/sweeps/test_store.py::test_processes_that_begin_together_never_mix",
    ),
    "Formulas of the option `--measure`": (
        "tests/cli/test_formulas.py::test_what_is_no_formula_is_told_with_the_measures_name",
        "tests/cli/test_formulas.py::test_random_options_end_in_values_or_messages",
        "tests/cli/test_limits.py::test_the_largest_formulas",
    ),
    "Processes that treesim starts": (
        "tests/system/test_subprocesses.py::test_no_other_place_starts_python",
        "tests/system/test_subprocesses.py::test_no_child_of_a_prompt_that_went_into_a_folder_gets_this_folder",
        "tests/system/test_subprocesses.py::test_a_child_of_a_prompt_finds_the_modules_that_the_prompt_has_imported",
        "tests/system/test_subprocesses.py::test_the_standard_library_comes_first_and_the_order_of_the_rest_is_kept",
        "tests/system/test_subprocesses.py::test_variables_of_python_are_not_read",
        "tests/system/test_subprocesses.py::test_programs_of_the_working_directory_are_not_found",
        "tests/system/test_subprocesses.py::test_a_child_imports_nothing_of_the_working_directory",
        "tests/system/test_subprocesses.py::test_a_command_runs_nothing_of_the_working_directory",
        "tests/system/test_subprocesses.py::test_python_m_treesim_leaves_the_working_directory",
    ),
    "Machine code from the [cache]": (
        "tests/engine/llvm/test_object_cache.py::test_what_is_not_whole_or_not_ours_is_not_read_but_replaced",
    ),
    "Viewers accept connections": (
        "plugins/treesim-meshcat/tests/test_meshcat_server.py::test_only_this_computer_is_served",
        "plugins/treesim-viser/tests/test_viser_guard.py::test_only_this_computer_is_served",
        "plugins/treesim-meshcat/tests/test_meshcat_server.py::test_without_the_token_forbidden",
        "plugins/treesim-meshcat/tests/test_meshcat_server.py::test_another_host_forbidden",
        "plugins/treesim-meshcat/tests/test_meshcat_server.py::test_another_origin_forbidden",
        "plugins/treesim-viser/tests/test_viser_guard.py::test_without_the_token_forbidden",
        "plugins/treesim-viser/tests/test_viser_guard.py::test_another_host_forbidden",
        "plugins/treesim-viser/tests/test_viser_guard.py::test_another_origin_forbidden",
        "tests/viewing/test_address.py::test_a_token_is_another_each_time_but_at_a_port_that_was_asked_for",
        "plugins/treesim-meshcat/tests/test_meshcat_rude_clients.py::test_many_connections_do_not_keep_others_out",
        "plugins/treesim-meshcat/tests/test_meshcat_rude_clients.py::test_too_many_pages_are_turned_down",
        "plugins/treesim-viser/tests/test_viser_guard.py::test_of_too_many_connections_the_oldest_is_ended_before_its_request",
        "plugins/treesim-viser/tests/test_viser_guard.py::test_so_many_pages_are_open_at_once",
    ),
    "Viewers show text": (
        "plugins/treesim-viser/tests/test_viser_browser.py::test_texts_of_robots_and_runs_are_shown_as_they_are",
        "plugins/treesim-meshcat/tests/test_meshcat_names.py",
    ),
    "`treesim view` opens no page": (
        "tests/cli/test_view.py::test_a_page_is_opened_before_the_robot_is_shown_but_not_for_what_is_wrong",
    ),
    "Output of commands": (
        "tests/cli/test_streams.py::test_no_line_is_a_command_or_forged_by_the_names_of_a_robot",
        "tests/cli/test_streams.py::test_errors_about_a_file_with_a_hostile_name",
        "tests/cli/test_streams.py::test_annotations_are_real_commands_and_nothing_else_is",
    ),
    "treesim imports a plugin": (
        "tests/test_example_plugin.py::test_a_plugin_is_imported_when_it_is_named_and_not_before",
        "tests/fuzz/test_policies_fuzz.py::test_500_changed_networks_are_read_or_refused",
        "tests/fuzz/test_policies_fuzz.py::test_500_changed_programs_are_used_or_refused",
    ),
}
LIMITS = ("Dask's scheduler",)  # what is not guaranteed


def functions(path: Path) -> set[str]:
    return {
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("name", sorted(set(chain(*TESTS.values()))))
def test_the_tests_of_guarantees_exist(name):
    file, _, test = name.partition("::")
    path = ROOT / file
    assert path.is_file(), file
    found = functions(path)
    assert test in found if test else any(function.startswith("test_") for function in found), test


def test_every_guarantee_has_tests():
    sections = TEXT.partition("## Reporting")[0]
    guarantees = re.findall(r"^- (.*)|^## Plugins\n\n(.*)", sections, re.MULTILINE)
    begun = ["".join(pair) for pair in guarantees]
    assert [words for words in TESTS if sum(text.startswith(words) for text in begun) != 1] == []
    assert [text for text in begun if not text.startswith((*TESTS, *LIMITS))] == []
